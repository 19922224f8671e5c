"""Asks a region by MLflow's own client. Usage: mlflow_client.py URL ENDPOINT CHAT < inputs.json; prints what it was answered."""

import json
import sys

from mlflow.deployments import get_deploy_client

url, endpoint, chat = sys.argv[1:]
rows = json.load(sys.stdin)
client = get_deploy_client(url)


def refusal(call) -> str:
    """The client's words for an answer that is an error."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 (requests' errors and MLflow's own)
        return f"{type(error).__name__}: {error}"
    raise AssertionError("no error")


print(
    json.dumps(
        {
            "endpoints": [found.name for found in client.list_endpoints()],
            "endpoint": client.get_endpoint(endpoint).name,
            "inputs": client.predict(endpoint=endpoint, inputs={"inputs": rows}),
            "instances": client.predict(endpoint=endpoint, inputs={"instances": rows}),
            "chat": client.predict(
                endpoint=chat,
                inputs={
                    "messages": [{"role": "user", "content": "What is the capital of France?"}],
                    "temperature": 0,
                    "max_tokens": 24,
                },
            ),
            "completion": client.predict(
                endpoint=chat, inputs={"prompt": "One, two, three, four,", "temperature": 0, "max_tokens": 3}
            ),
            "unknown": refusal(lambda: client.predict(endpoint="nobody", inputs={"inputs": rows})),
            "wrong": refusal(lambda: client.predict(endpoint=endpoint, inputs={"inputs": [[1.0]]})),
        }
    )
)
