"""`JSONSerializer`: what DBOS keeps of workflows and steps, as JSON in place of pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import msgspec

from agentsdk.durable.dbos.require import require_package
from agentsdk.durable.rest import Failure
from agentsdk.types import errors
from agentsdk.types.errors import UserError

require_package()

from dbos import PortableWorkflowError, Serializer  # noqa: E402 - first the error that says what to install
from dbos import error as dbos_errors  # noqa: E402

_TIME = "agentsdk.time"
_ERROR = "agentsdk.error"


class JSONSerializer(Serializer):
    """For `DBOSConfig(serializer=JSONSerializer())`: nothing is pickled, and a reader of the tables sees what it is.

    It keeps what has a JSON form, times, and errors: those of agentsdk and of DBOS come back as what they were, others as
    `dbos.PortableWorkflowError` with their name. So it is also for workflows of your own, as long as they pass such values.
    Reading never imports or calls anything by a name in the data. Raises `UserError` for a value without a JSON form.
    """

    def name(self) -> str:
        """What the tables call it."""
        return "agentsdk_json"

    def serialize(self, data: Any) -> str:
        """`data` as JSON text."""
        try:
            return json.dumps(_plain(data), separators=(",", ":"), allow_nan=False)
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"a value for DBOS has no JSON form ({type(error).__name__}), expected finite numbers and bounded depth; "
                "convert it first"
            ) from error

    def deserialize(self, serialized_data: str) -> Any:
        """What `serialize` was given; tuples come back as lists."""
        return json.loads(serialized_data, object_hook=_read)


def _plain(value: object) -> object:
    kind = type(value).__name__
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in cast("list[object]", value)]
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, object]", value)
        if all(isinstance(key, str) for key in entries) and not {_TIME, _ERROR} & entries.keys():
            return {key: _plain(entry) for key, entry in entries.items()}
    if isinstance(value, datetime):
        return {_TIME: value.isoformat()}
    if isinstance(value, BaseException):
        return {_ERROR: msgspec.to_builtins(Failure.of(value))}
    raise UserError(
        f"a value for DBOS is a {kind!r}, expected text, numbers, lists, dicts of texts, times or errors; convert it first"
    )


def _read(entry: dict[str, Any]) -> object:
    """A time, an error, or the entry as it is."""
    if entry.keys() == {"args", "kwargs"}:
        return {**entry, "args": tuple(entry["args"])}  # of a workflow: DBOS adds to them
    if len(entry) != 1:
        return entry
    if _TIME in entry:
        return datetime.fromisoformat(entry[_TIME])
    return _error(msgspec.convert(entry[_ERROR], Failure)) if _ERROR in entry else entry


def _error(failure: Failure) -> Exception:
    if hasattr(errors, failure.type):
        return failure.error()
    kind = getattr(dbos_errors, failure.type, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return PortableWorkflowError(failure.message, failure.type)
    error = kind.__new__(kind)
    error.args = (failure.message,)
    vars(error).update(failure.fields)
    return error
