"""`SkillsToolset`: folders of skills, of which the model is told names and descriptions, and loads what it needs.

A skill is a folder with a `SKILL.md`, in the format of https://agentskills.io: front matter that names and describes it, then
instructions; beside it the files that they speak of. Nothing of it is run here.

A skill is looked up when it is loaded, in the folders as they are then, so a run goes on in another process. What was loaded is
in the record, as the result of a call.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import os
from collections.abc import Sequence
from os import PathLike
from typing import Any, cast

from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.toolset import Toolset, ToolsetContext
from agentsdk.toolsets.skill import SKILL_FILE, Skill, is_skill_name, skill_or_problem
from agentsdk.toolsets.skill_files import (
    OutsideError,
    can_open_below,
    files_below,
    folders_in,
    names_in,
    read_below,
    reason_of,
)
from agentsdk.types.declared import Expected, Fields, a_name, sequence_of, whole
from agentsdk.types.errors import ToolError, UserError
from agentsdk.types.generics import TContext
from agentsdk.types.text import escaped, shortened

logger = logging.getLogger("agentsdk")

_NAMED = 50
_INTRODUCTION = (
    "Skills are instructions for particular tasks. Below are their names, and what each is for. Before you begin such a task, "
    "load its skill by name, and follow it."
)


class SkillsToolset(Toolset[TContext]):
    """The skills in one or more folders, each a folder in them with a `SKILL.md`.

    Their names and descriptions are told to the model, which reads more as it needs it, with the tools `load_skill(name)` and
    `read_skill_file(skill, path)`: files in a skill's own folder only, nothing hidden, no link followed, `max_bytes` of each.

    The folders are read when a turn begins, on a thread. A skill that was added, changed or removed enters each run at its next
    turn; one that has become invalid is left out, and logged. Making the toolset reads the folders too, and blocks meanwhile.
    Raises `UserError` for skills that are invalid then, with file and line, and for two of one name.
    """

    def __init__(self, *folders: str | PathLike[str], name: str = "skills", max_bytes: int = 100_000) -> None:
        _FIELDS.check_given(folders=folders, name=name, max_bytes=max_bytes)
        if not folders:
            raise UserError("SkillsToolset() has no folder, expected one or more; pass SkillsToolset('skills'), say")
        if not can_open_below():
            raise UserError(
                "SkillsToolset cannot keep to its folders on this platform, expected one that opens files relative to a folder "
                "(Linux, macOS); run it there"
            )
        self.name = name
        self._folders = tuple([os.path.abspath(folder) for folder in folders])
        self._max_bytes = max_bytes
        self._tools = cast("tuple[FunctionTool[TContext], ...]", _tools(self))
        for folder in self._folders:
            if os.path.exists(os.path.join(folder, SKILL_FILE)):
                raise UserError(f"{folder} is a skill, expected a folder of skills; pass {os.path.dirname(folder)!r}, say")
        self._last = _Scan()
        self._last = self._scan()
        if self._last.problems:
            raise UserError("\n".join(self._last.problems))

    @property
    def skills(self) -> tuple[Skill, ...]:
        """The skills, as they were when a turn last began."""
        return self._last.skills

    async def get_tools(self, context: ToolsetContext[TContext]) -> Sequence[FunctionTool[TContext]]:
        known = self._last.problems
        self._last = scan = await asyncio.to_thread(self._scan)
        for problem in scan.problems:
            if problem not in known:
                logger.warning("toolset %r leaves out a skill: %s", self.name, problem)
        return self._tools if scan.skills else ()

    async def get_instructions(self, context: ToolsetContext[TContext]) -> str:
        return self._last.instructions

    async def find_tool(self, context: ToolsetContext[TContext], name: str) -> FunctionTool[TContext] | None:
        return next((tool for tool in self._tools if tool.name == name), None)

    def _scan(self) -> _Scan:
        """What is in the folders now. A file is read again only where it has changed. Blocks."""
        known, scan = self._last.read, _Scan()
        for folder in self._folders:
            try:
                for name, version in folders_in(folder, SKILL_FILE):
                    place = (folder, name)
                    if version is None or (found := known.get(place)) is None or found[0] != version:
                        found = (version, skill_or_problem(folder, name, self._max_bytes))
                    scan.add(place, found)
            except (OSError, UnicodeError) as error:
                scan.problems.append(f"{escaped(folder)}: {reason_of(error)}, expected a folder of skills")
        return scan

    def _load(self, name: str) -> str:
        skill = self._skill(name)
        try:
            files, has_more = files_below(os.path.dirname(skill.folder), name)
        except OSError:
            files, has_more = [], False
        texts = [f"# Skill {name}"]
        if skill.compatibility:
            texts.append(f"Compatibility: {skill.compatibility}")
        texts.append(skill.instructions)
        listed = [f"- {path} ({size:,} bytes)" for path, size in files if path != SKILL_FILE]
        if listed:
            texts.append("\n".join([_FILES_OF.format(name), *listed, *(["- and others"] if has_more else [])]))
        return "\n\n".join(filter(None, texts))

    def _read_file(self, skill: str, path: str) -> str:
        folder = os.path.dirname(self._skill(skill).folder)
        shown = f"{shortened(path, 200)!r} of skill {skill!r}"
        try:
            data, size, _ = read_below(folder, "/".join([skill, *names_in(path)]), self._max_bytes)
        except OutsideError as error:
            raise ToolError(f"{shown} {error}, expected the path of one of the skill's files") from None
        except (OSError, ValueError) as error:
            raise ToolError(f"{shown} cannot be read: {reason_of(error)}; load the skill to see its files") from None
        is_cut = len(data) < size
        try:
            text = codecs.getincrementaldecoder("utf-8")().decode(data, not is_cut)
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            return f"[{path} is a binary file of {size:,} bytes, which cannot be shown as text.]"
        return f"{text}\n\n[These are the first {len(data):,} of {size:,} bytes. The rest is not shown.]" if is_cut else text

    def _skill(self, name: str) -> Skill:
        """The skill of that name, as it is now. Raises `ToolError`."""
        if is_skill_name(name):
            for folder in self._folders:
                found = skill_or_problem(folder, name, self._max_bytes)
                if isinstance(found, Skill):
                    return found
        names = [skill.name for skill in self._last.skills]
        listed = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
        raise ToolError(f"there is no skill {shortened(name, 100)!r}, expected one of: {listed}")


_FILES_OF = "Files of skill {}, to be read by their path. Scripts can be read too; nothing runs them here."


class _Scan:
    """What was found in the folders at one time."""

    def __init__(self) -> None:
        self.read: dict[tuple[str, str], tuple[tuple[int, ...] | None, Skill | str]] = {}
        self.problems: list[str] = []
        self._skills: dict[str, Skill] = {}
        self._told: str | None = None

    def add(self, place: tuple[str, str], found: tuple[tuple[int, ...] | None, Skill | str]) -> None:
        self.read[place] = found
        skill = found[1]
        if isinstance(skill, str):
            self.problems.append(skill)
        elif (first := self._skills.setdefault(skill.name, skill)) is not skill:
            self.problems.append(
                f"{os.path.join(skill.folder, SKILL_FILE)}: a second skill {skill.name!r}, expected a name of its own; the "
                f"first is in {os.path.dirname(first.folder)}"
            )

    @property
    def skills(self) -> tuple[Skill, ...]:
        return tuple(self._skills.values())

    @property
    def instructions(self) -> str:
        if self._told is None:
            lines = [f"- {skill.name}: {' '.join(skill.description.split())}" for skill in self.skills]
            self._told = f"{_INTRODUCTION}\n\n" + "\n".join(lines) if lines else ""
        return self._told


def _tools(skills: SkillsToolset[Any]) -> tuple[FunctionTool[Any], ...]:
    @function_tool(effect="none")
    def load_skill(name: str) -> str:
        """Load a skill: its instructions, and the paths of its files."""
        return skills._load(name)  # pyright: ignore[reportPrivateUsage]

    @function_tool(effect="none")
    def read_skill_file(skill: str, path: str) -> str:
        """Read a file of a skill, by the path that the skill gives for it."""
        return skills._read_file(skill, path)  # pyright: ignore[reportPrivateUsage]

    return load_skill, read_skill_file


def _is_path(value: object) -> bool:
    path: object = os.fspath(cast("PathLike[str]", value)) if isinstance(value, PathLike) else value
    return isinstance(path, str) and path != "" and "\0" not in path


_FIELDS = Fields(
    "SkillsToolset",
    folders=sequence_of(Expected("the path of a folder; pass 'skills', say", _is_path), "paths"),
    name=a_name("a non-empty str; it tells the toolset from the others of an agent"),
    max_bytes=whole("a whole number above 0: bytes of a file", 1),
)
