from support.api_server import Api


async def test_smoke(api: Api) -> None:
    said = await api.post(
        "/jobs", {"mailbox_id": "support", "subject": "x", "to": ["a@example.com"]}
    )
    print(said)
    assert said.status == 202
    for path in [
        "/jobs",
        "/jobs/" + said.json["id"],
        "/nothing",
        "/stats",
        "/mailboxes",
        "/events",
        "/openapi.json",
        "/deliveries?x=1",
        "/readyz",
    ]:
        print(await api.get(path))
    print(await api.ask("PUT", "/v1/jobs"))
    assert not api.faults, api.faults
