"""Refused calls: one hierarchy, whose root carries what was wrong.

The state of the object is as it was before the call, except for the kind ``binding_violated``,
which ends the violated session binding.
"""


class RouterError(Exception):
    """A refused call.

    Attributes:
        kind: Why, as a stable word in snake case, for example ``queue_limit``.
        field: The field or argument at fault.
        value: The value it had, as text.
        expected: What would have been right.
    """

    def __init__(self, kind: str, field: str, value: str, expected: str) -> None:
        super().__init__(f"{kind}: {field} = {value}: expected {expected}")
        self.kind = kind
        self.field = field
        self.value = value
        self.expected = expected

    def __reduce__(self) -> tuple[type["RouterError"], tuple[str, str, str, str]]:
        """Pickle by the four parts."""
        return type(self), (self.kind, self.field, self.value, self.expected)


class InvalidInputError(RouterError, ValueError):
    """A value outside its range or type, or a clock that cannot go there."""


class StateError(RouterError):
    """The call does not fit the state: an id that is unknown, taken or in another phase."""


class PlacementError(RouterError):
    """No candidate may take the request now."""


class CapacityError(RouterError):
    """A limit of the queue or of the affinity table is reached."""


class WrongThreadError(RouterError):
    """The object belongs to the thread that created it."""


_CLASSES: dict[str, type[RouterError]] = {
    "invalid_value": InvalidInputError,
    "unsupported": InvalidInputError,
    "clock_invalid": InvalidInputError,
    "clock_backwards": InvalidInputError,
    "invalid_command": InvalidInputError,
    "parent_not_found": InvalidInputError,
    "self_parent": InvalidInputError,
    "no_endpoints": PlacementError,
    "all_overloaded": PlacementError,
    "pinned_overloaded": PlacementError,
    "pinned_not_allowed": PlacementError,
    "queue_limit": CapacityError,
    "affinity_full": CapacityError,
    "wrong_thread": WrongThreadError,
}


def refusal(kind: str, field: str, value: str, expected: str) -> RouterError:
    """The exception of a kind; the compiled half raises what this returns."""
    return _CLASSES.get(kind, StateError)(kind, field, value, expected)
