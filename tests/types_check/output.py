"""Typed as documented: both checkers read these files, nothing runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from agentsdk import Agent, Runner
from agentsdk.output import (
    Critique,
    ModelRetry,
    OutputImage,
    OutputValidator,
    ValidatorContext,
    output_validator,
    reviewed_by,
)


@dataclass
class User:
    name: str


def accepts(context: ValidatorContext[User], output: str) -> None:
    assert_type(context.context, User)
    assert_type(context.text, str)
    raise ModelRetry(output)


async def changes(context: ValidatorContext[User], output: str) -> str:
    return output.upper()


def is_long(context: ValidatorContext[User], output: str) -> bool:
    return len(output) > 3


@output_validator
async def decorated(context: ValidatorContext[User], output: str) -> str | None:
    return None


@output_validator(when=is_long, timeout=3, name="checked")
def with_options(context: ValidatorContext[User], output: str) -> None:
    return None


def of_numbers(context: ValidatorContext[User], output: int) -> int:
    return output + 1


assert_type(decorated, OutputValidator[User, str])
assert_type(with_options, OutputValidator[User, str])
Agent[User, str](name="x", output_validators=[accepts, changes, decorated, with_options])
Agent[User, str](name="x", output_validators=(accepts,), max_output_retries=2)
Agent[User, int](name="x", output_type=int, output_validators=[of_numbers])

critic = Agent[User, Critique](name="critic", output_type=Critique)
plain = Agent[User, str](name="plain")


@output_validator(agents=[critic, plain])
async def asks(context: ValidatorContext[User], output: str) -> None:
    assert_type(await context.run(critic, output), Critique)
    assert_type(await context.run(plain, [{"role": "user", "content": output}]), str)


Agent[User, str](name="x", output_validators=[asks, reviewed_by(critic), reviewed_by(plain, when=is_long)])

painter = Agent[None, OutputImage](name="painter", output_type=OutputImage)
either = Agent[None, str | OutputImage](name="either", output_type=[str, OutputImage])


async def draws() -> None:
    assert_type((await Runner.run(painter, "a cat")).final_output, OutputImage)
    assert_type((await Runner.run(either, "a cat")).final_output, str | OutputImage)


# Must be an error: an unused ignore is one for both checkers.
Agent[User, str](name="x", output_validators=[of_numbers])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
