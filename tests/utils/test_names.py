"""Names of many columns are compared once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from stc._utils.names import first_repeated
from stc.sources.protocol import check_columns


class Name(str):
    """A name that counts how often names are compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, str(other))

    __hash__ = str.__hash__


@settings(max_examples=100)
@given(st.lists(st.sampled_from("abcdef"), max_size=8))
def test_the_first_name_that_comes_again(names: list[str]) -> None:
    again = [name for place, name in enumerate(names) if name in names[:place]]
    assert first_repeated(names) == (again[0] if again else None)


def test_names_are_not_compared_with_all_others() -> None:
    names = [Name(f"column {place}") for place in range(1000)]
    Name.compared = 0
    assert first_repeated(names) is None
    check_columns([Name(name) for name in names], names)
    assert Name.compared < 5000
