"""`Skill`: what a `SKILL.md` says, read and checked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agentsdk.toolsets.front_matter import Field, FrontMatterError, read_front_matter
from agentsdk.toolsets.skill_files import OutsideError, read_below, reason_of
from agentsdk.types.text import escaped

SKILL_FILE = "SKILL.md"

_FIELDS = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
_NAME = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
_MAX_NAME = 64
_MAX_DESCRIPTION = 1024
_MAX_COMPATIBILITY = 500


@dataclass(frozen=True, slots=True)
class Skill:
    """What the front matter of a `SKILL.md` says, in the field's own words, and the instructions below it.

    `folder` is the path of the skill's folder. `allowed_tools` is what the skill asks to use; it grants nothing.
    """

    name: str
    description: str
    instructions: str
    folder: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


def is_skill_name(text: str) -> bool:
    """Whether it is lower case letters, digits and single hyphens, 64 at most."""
    return len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None


def skill_or_problem(folder: str, name: str, max_bytes: int) -> Skill | str:
    """A skill, or what is wrong with it, with file and line."""
    path = os.path.join(folder, name, SKILL_FILE)
    data = b""
    try:
        data, size, _ = read_below(folder, f"{name}/{SKILL_FILE}", max_bytes)
        if len(data) < size:
            raise FrontMatterError(0, f"{size:,} bytes, expected at most {max_bytes:,}; move parts into files of their own")
        return _skill(data.decode("utf-8-sig"), os.path.join(folder, name))
    except FrontMatterError as error:
        return f"{escaped(path)}{f':{error.line}' * bool(error.line)}: {error}"
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"{escaped(path)}:{line}: bytes that are not UTF-8, expected a text in UTF-8"
    except (OSError, OutsideError) as error:
        return f"{escaped(path)}: {reason_of(error)}, expected a file; it is opened without following links"


def _skill(text: str, folder: str) -> Skill:
    """Raises `FrontMatterError`."""
    fields, instructions = read_front_matter(text, _FIELDS)
    texts = {key: _text_of(key, fields) for key in ("name", "description", "license", "compatibility")}
    for key, most in (("name", _MAX_NAME), ("description", _MAX_DESCRIPTION), ("compatibility", _MAX_COMPATIBILITY)):
        given = texts[key]
        if (key in fields or key != "compatibility") and not 1 <= len(given) <= most:
            what = f"{key} of {len(given):,} characters" if key in fields else f"no {key}"
            raise FrontMatterError(fields[key].line if key in fields else 1, f"{what}, expected 1 to {most}")
    name = texts["name"]
    if not _NAME.fullmatch(name):
        raise FrontMatterError(fields["name"].line, f"name {name!r}, expected lower case letters, digits and single hyphens")
    if name != os.path.basename(folder):
        raise FrontMatterError(fields["name"].line, f"name {name!r}, expected that of its folder, {os.path.basename(folder)!r}")
    return Skill(
        name,
        texts["description"],
        instructions,
        folder,
        texts["license"],
        texts["compatibility"],
        tuple(_allowed_tools(fields)),
        _metadata(fields),
    )


def _text_of(key: str, fields: Mapping[str, Field]) -> str:
    if key not in fields:
        return ""
    value, line = fields[key].value, fields[key].line
    if not isinstance(value, str):
        raise FrontMatterError(line, f"{key} is a {'list' if isinstance(value, tuple) else 'mapping'}, expected a text")
    return value


def _allowed_tools(fields: Mapping[str, Field]) -> Iterator[str]:
    given = fields.get("allowed-tools")
    if given is not None and isinstance(given.value, tuple):
        yield from given.value
    else:
        yield from _TOOL.findall(_text_of("allowed-tools", fields))


def _metadata(fields: Mapping[str, Field]) -> Mapping[str, str]:
    given = fields.get("metadata")
    if given is None or given.value == "":
        return {}
    if isinstance(given.value, str | tuple):
        raise FrontMatterError(given.line, "metadata is no mapping, expected lines 'key: value' below it, indented")
    return given.value
