"""The names of generations, in a real Redis."""

from tests.memory import Memory
from twiceshy.stores.generations import Generations


async def test_name_of_a_generation_that_was_dropped_is_not_given_again(stores: Memory, tenant: str) -> None:
    known = Generations(stores.stores.redis)
    name = await known.new_name(tenant)
    await known.note(tenant, name, "built")
    await known.forget(tenant, name)
    assert (name, await known.new_name(tenant)) == ("g2", "g3")


async def test_new_name_is_none_that_a_person_has_given(stores: Memory, tenant: str) -> None:
    known = Generations(stores.stores.redis)
    for name in ("g2", "g3", "trial"):
        await known.note(tenant, name, "built")
    assert await known.new_name(tenant) == "g4"
