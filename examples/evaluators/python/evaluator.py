"""An evaluator for Slipway's checks: compares an agent's tool calls with those of the reference.

The protocol: docs/evaluators.md. Set EVALUATORS_SECRET, and PORT (8402 by default).
"""

import hashlib
import hmac
import json
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agentevals.trajectory.match import create_trajectory_match_evaluator
from langchain_core.messages import convert_to_messages

SECRET = os.environ["EVALUATORS_SECRET"]
SIGNATURE_AGE_MAX_SECONDS = 300
EVALUATORS = {
    f"/trajectory/{mode}": create_trajectory_match_evaluator(trajectory_match_mode=mode)
    for mode in ("strict", "unordered", "subset", "superset")
}


def is_from_slipway(header: str | None, body: bytes) -> bool:
    """Whether the body was signed with the secret, and lately."""
    found = re.match(r"t=(\d+),v1=([0-9a-f]{64})", header or "")
    if found is None or abs(time.time() - int(found[1])) > SIGNATURE_AGE_MAX_SECONDS:
        return False
    own = hmac.new(SECRET.encode(), found[1].encode() + b"." + body, hashlib.sha256)
    return hmac.compare_digest(own.hexdigest(), found[2])


def score(path: str, request: dict) -> dict:
    """Scores a run by the agent's own messages: those after the last one of a person."""
    reference = request["reference"]
    if not isinstance(reference, dict) or not reference.get("messages"):
        raise ValueError('the check has no "reference" with "messages"')
    messages = convert_to_messages(request["output"]["messages"])
    own = messages[max((at for at, one in enumerate(messages) if one.type == "human"), default=-1) + 1 :]
    result = EVALUATORS[path](outputs=own, reference_outputs=convert_to_messages(reference["messages"]))
    calls = [call["name"] for one in own for call in getattr(one, "tool_calls", [])]
    return {"score": result["score"], "comment": f"called {', '.join(calls) or 'no tool'}"}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not is_from_slipway(self.headers.get("slipway-signature"), body):
            self.answer(401, {"detail": "the signature is not that of the body"})
        elif self.path not in EVALUATORS:
            self.answer(404, {"detail": f"POST to one of {', '.join(EVALUATORS)}"})
        else:
            try:
                self.answer(200, score(self.path, json.loads(body)))
            except (KeyError, TypeError, ValueError) as error:
                self.answer(400, {"detail": f"not what this evaluator needs: {error}"})

    def answer(self, status: int, body: dict) -> None:
        data = json.dumps(body, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8402"))), Handler)
    print(f"evaluators on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
