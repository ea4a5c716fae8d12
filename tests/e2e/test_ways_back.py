"""The addresses that answers and reports come back to: a token of its own in each copy on the wire."""

from pathlib import Path

from postroom.core.ids import Kind, encode_id
from postroom.core.token import TokenKind
from support.answering import open_house
from support.arrivals import ALICE
from support.relay_script import Reply, Transaction


def sender_of(transaction: Transaction) -> str:
    return transaction.sender.strip("<>")


async def test_each_copy_has_its_own_way_back(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        made = await house.sent(to=[ALICE, "bob@example.com"])
        numbers = [one.accepted.number for one in made.deliveries]
        assert len(house.relay.transactions) == 2
        seen = []
        for at, transaction in enumerate(house.relay.transactions):
            message = house.message(at)
            seen.append(message["Message-ID"])
            (address,) = message["Reply-To"].addresses
            assert address.display_name == "Support"
            number = house.token(address.addr_spec)[1]
            assert house.token(address.addr_spec) == (TokenKind.REPLY, number)
            assert house.token(sender_of(transaction)) == (TokenKind.BOUNCE, number)
            assert message["X-Postroom-Delivery"] == encode_id(Kind.DELIVERY, number)
            assert message["To"] == f"{ALICE}, bob@example.com"
            numbers.remove(number)
        assert (len(set(seen)), numbers) == (1, [])


async def test_the_way_back_stays_over_a_retry_and_a_resend(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        house.relay.on("dot", Reply("451 4.3.0 later"), times=1)
        await house.sent()
        await house.post.run(400)
        first, second = house.relay.transactions
        assert first.sender == second.sender
        assert first.content == second.content


async def test_a_reply_to_of_the_callers_own_stays_alone(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.sent(reply_to=["desk@example.com"])
        assert house.message(0).get_all("Reply-To") == ["desk@example.com"]
        assert house.token(sender_of(house.relay.transactions[0]))[0] is TokenKind.BOUNCE


async def test_without_addresses_for_them_there_are_no_tokens(tmp_path: Path) -> None:
    async with open_house(tmp_path, reply_address=None, return_path=None) as house:
        await house.sent()
        assert house.message(0)["Reply-To"] is None
        assert sender_of(house.relay.transactions[0]) == "support@example.com"
