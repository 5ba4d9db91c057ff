"""A server that speaks TLS 1.0 and nothing later, as SQL Server 2005 to 2014 do without updates: `vlflab` names the cause and prints the
script for the server's own tools, and what the script answers is read by `--from`.

The old server is OpenSSL's TLS 1.0 behind PRELOGIN. Python's library drives it; a control shows that it does speak TLS 1.0."""

import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path

from harness import PASSWORD, PROGRAM, Report, Server, equal

PRELOGIN = 0x12
# Version 10.50.4000 and ENCRYPT_ON, at their offsets.
ANSWER = struct.pack(">BHHBHHB", 0, 11, 6, 1, 17, 1, 0xFF) + bytes([10, 50, 0x0F, 0xA0, 0, 0, 1])


def old_context(is_server):
    """TLS 1.0 alone. OpenSSL 3 has it at security level 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("ALL:@SECLEVEL=0")
    if not is_server:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def receive(connection):
    """The payload of one packet of TDS; empty when the other side has gone."""
    header = b""
    while len(header) < 8:
        more = connection.recv(8 - len(header))
        if not more:
            return b""
        header += more
    length = struct.unpack(">H", header[2:4])[0] - 8
    payload = b""
    while len(payload) < length:
        more = connection.recv(length - len(payload))
        if not more:
            return b""
        payload += more
    return payload


def send(connection, kind, payload):
    connection.sendall(struct.pack(">BBHHBB", kind, 1, len(payload) + 8, 0, 1, 0) + payload)


def shake_hands(connection, context, is_server):
    """The handshake within packets of PRELOGIN; the version that was agreed on."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    wrapped = context.wrap_bio(incoming, outgoing, server_side=is_server)
    while True:
        try:
            wrapped.do_handshake()
            if outgoing.pending:
                send(connection, PRELOGIN, outgoing.read())
            return wrapped.version()
        except ssl.SSLWantReadError:
            if outgoing.pending:
                send(connection, PRELOGIN, outgoing.read())
            payload = receive(connection)
            if not payload:
                raise ConnectionError("the other side has gone") from None
            incoming.write(payload)
        except ssl.SSLError:
            # The alert that says why.
            if outgoing.pending:
                send(connection, PRELOGIN, outgoing.read())
            raise


class OldServer:
    """Listens until it is closed; keeps what came of each handshake."""

    def __init__(self, folder):
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=old", "-days", "2"]
        subprocess.run(command, check=True, capture_output=True)
        self.context = old_context(True)
        self.context.load_cert_chain(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.outcomes = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                try:
                    receive(connection)
                    send(connection, 4, ANSWER)
                    self.outcomes.append(shake_hands(connection, self.context, True))
                    receive(connection)
                except (OSError, ssl.SSLError) as error:
                    self.outcomes.append(type(error).__name__)


def speaks_tls_1_0(old):
    with socket.create_connection(("127.0.0.1", old.port)) as connection:
        send(connection, PRELOGIN, ANSWER)
        receive(connection)
        equal(shake_hands(connection, old_context(False), False), "TLSv1")


def vlflab(*arguments, text=None):
    environment = {**os.environ, "MSSQL_PASSWORD": PASSWORD, "SQLCMDPASSWORD": PASSWORD}
    return subprocess.run([PROGRAM, *map(str, arguments)], input=text, capture_output=True, text=True, env=environment, timeout=60)


def cause_is_named(old):
    done = vlflab("advise", "-S", f"127.0.0.1,{old.port}", "-C")
    equal(done.returncode, 3)
    said = done.stdout + done.stderr
    assert "TLS 1.2" in said and "2005 to 2014" in said, said
    assert vlflab("advise", "--paste-script").stdout.strip() in said, said
    assert "Error" in old.outcomes[-1], old.outcomes


def script_is_read(server):
    """The printed script, run by the server's own tools, gives what `--from` reads: a verdict for each database."""
    script = vlflab("advise", "--paste-script").stdout
    rows = vlflab("sql", "-S", f"127.0.0.1,{server.port}", "-C", "-W", "-s", "|", text=script + "\ngo\n")
    equal(rows.returncode, 0)
    advice = vlflab("advise", "--from", "-", "--sql-version", "2008R2", text=rows.stdout)
    assert "4 VLFs" in advice.stdout and "master" in advice.stdout, advice.stdout + advice.stderr


def main():
    report = Report("old TLS")
    with tempfile.TemporaryDirectory() as folder, Server(sql_version="2008R2") as server:
        old = OldServer(Path(folder))
        report.check("the control speaks TLS 1.0", lambda: speaks_tls_1_0(old))
        report.check("the cause is named and the script printed", lambda: cause_is_named(old))
        report.check("what the script answers is read", lambda: script_is_read(server))
        old.listener.close()
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
