"""`vlflab mcp` driven by the protocol's official client library, in each of its two eras: what the tools say of a real server."""

import asyncio
import json
import os
import sys

from harness import PASSWORD, PROGRAM, Report, Server, equal

from mcp import Client
from mcp.client.stdio import StdioServerParameters

TOOLS = ["plan", "price", "inspect", "advise", "snapshot", "explain"]
# Eight VLFs of 1 MB in the form of DBCC LOGINFO.
ROWS = "FileId FileSize StartOffset FSeqNo Status Parity CreateLSN\n" + "\n".join(
    f"2 1048576 {8192 + 1048576 * place} {place + 20} 2 64 0" for place in range(8)
)
HELD = """create database held alter database held set recovery simple
use held create table t (a char(4000) not null)"""


def settings():
    return StdioServerParameters(command=str(PROGRAM), args=["mcp"], env={**os.environ, "MSSQL_PASSWORD": PASSWORD})


def text_of(result):
    return "\n".join(part.text for part in result.content)


async def tools(client):
    listed = (await client.list_tools()).tools
    equal([tool.name for tool in listed], TOOLS)
    assert all(tool.annotations.read_only_hint for tool in listed), listed
    planned = await client.call_tool("plan", {"sql_version": "2012", "initial": "8MB", "growth": "64MB", "to": "1GB"})
    assert not planned.is_error and "VLF" in text_of(planned), planned
    priced = await client.call_tool("price", {"rows": ROWS, "disk": "azure-p30", "sql_version": "2012"})
    assert not priced.is_error and "," in text_of(priced), priced
    explained = await client.call_tool("explain", {"id": "held-by-transaction"})
    assert "held-by-transaction" in text_of(explained), explained
    wrong = await client.call_tool("inspect", {"file": "/no/such.ldf"})
    assert wrong.is_error and "/no/such.ldf" in text_of(wrong), wrong
    wrong = await client.call_tool("plan", {"html": "/tmp/x"})
    assert wrong.is_error and "no argument html" in text_of(wrong), wrong


async def a_server(client, server):
    """A transaction that nobody ends is the holder that `advise` names."""
    holder = await asyncio.create_subprocess_exec(
        PROGRAM, "sql", "-S", f"127.0.0.1,{server.port}", "-P", PASSWORD, "-d", "held",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        holder.stdin.write(b"begin transaction insert t values ('x')\nprint 'begun'\ngo\n")
        await holder.stdin.drain()
        while b"begun" not in await holder.stdout.readline():
            pass
        address = f"127.0.0.1,{server.port}"
        snapshot = await client.call_tool("snapshot", {"server": address})
        assert not snapshot.is_error, snapshot
        names = [database["name"] for database in json.loads(text_of(snapshot))["databases"]]
        assert "held" in names, names
        # At the same time, and the answers are told apart.
        answers = await asyncio.gather(
            client.call_tool("advise", {"server": address, "all": True}),
            client.call_tool("advise", {"rows": text_of(snapshot)}),
        )
        assert not any(answer.is_error for answer in answers), answers
        assert "held" in text_of(answers[0]), answers[0]
    finally:
        holder.kill()
        await holder.wait()
    refused = await client.call_tool("advise", {"server": "127.0.0.1,1"})
    assert refused.is_error, refused


async def in_era(mode, server, report):
    async with Client(settings(), mode=mode) as client:
        outcomes = {}
        for name, check in (("tools", tools(client)), ("a server", a_server(client, server))):
            try:
                outcomes[name] = await check
            except Exception as error:  # noqa: BLE001: reported as this check's
                outcomes[name] = error
        print(f"negotiated mcp: {client.protocol_version}")
    for name, outcome in outcomes.items():
        report.check(f"{name}, {mode}", raised, outcome)


def raised(outcome):
    if isinstance(outcome, Exception):
        raise outcome


def main():
    report = Report("mcp")
    with Server() as server:
        server.sql(HELD)
        for mode in ("auto", "legacy"):
            asyncio.run(in_era(mode, server, report))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
