"""Replays webhooks.json: `python -m tests.vectors.webhook_replay [--show N]`.

As the other files, with a webhook server beside: its mode is set before each entry, and the
reviews it received are compared too.
"""

import argparse
import copy
import json
from typing import Any

from tests.vectors.harness import FOLDER, Entry, Player, Result, RunningServer, replay_module
from tests.vectors.webhook_server import HookServer


def replay_webhooks() -> Result:
    document = json.loads((FOLDER / "webhooks.json").read_text())
    result = Result("webhooks.json")
    server = RunningServer()
    hook = HookServer()
    server.run(hook.start())
    try:
        player = Player(replay_module(), server)
        player.variables |= {"hook": hook.url, "ca": hook.ca}
        for entry in document["entries"]:
            played = _play(player, hook, entry)
            if played is not None:
                result.entries.append(played)
    finally:
        server.run(hook.stop())
        server.stop()
    return result


def _play(player: Player, hook: HookServer, entry: Any) -> Entry | None:
    hook.mode = entry.get("hook_mode") or "allow"
    hook.received.clear()
    wanted = player.replay.fill(copy.deepcopy(entry.get("reviews") or []), player.variables)
    plain = {k: v for k, v in entry.items() if k not in ("reviews", "pause_seconds")}
    plain["response"] = player.replay.fill(copy.deepcopy(entry["response"]), player.variables)
    played = player.play(plain)
    if played is None:
        return None
    got = json.loads(json.dumps(hook.received))
    ours, theirs = player.got, player.want
    if not played.status_agrees:
        ours, theirs = copy.deepcopy((ours, theirs))
    differences = list(
        player.replay.diff(
            [theirs.norm(r) for r in wanted], [ours.norm(r) for r in got], "/reviews"
        )
    )
    played.differences += differences
    played.body_agrees = played.body_agrees and not differences
    return played


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.vectors.webhook_replay")
    parser.add_argument("--show", type=int, default=4)
    options = parser.parse_args()
    result = replay_webhooks()
    for entry in result.entries:
        if entry.body_agrees and entry.status_agrees:
            continue
        print(entry.name, "" if entry.status_agrees else "[status]")
        for path, want, got in entry.differences[: options.show]:
            print(f"    {path}")
            print(f"      want {json.dumps(want)[:300]}")
            print(f"      got  {json.dumps(got)[:300]}")
    shares = f"{result.share('status_agrees'):.1f} {result.share('body_agrees'):.1f}"
    print(len(result.entries), "entries; status and body:", shares)


if __name__ == "__main__":
    main()
