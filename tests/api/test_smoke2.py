import json
from openapi_spec_validator import validate
from support.api_server import Api


async def test_smoke(api: Api) -> None:
    said = await api.get("/openapi.json")
    assert said.status == 200, (said, api.faults)
    json.dump(said.json, open("/tmp/openapi.json", "w"), indent=1)
    validate(said.json)
