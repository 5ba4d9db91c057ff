"""What passes between a client and the server: a relay that reads along.

It tells what was negotiated (TDS's PRELOGIN and TLS's ServerHello are never encrypted) and whether bytes that must stay
unreadable passed readable. Layouts: MS-TDS 2.2.6.5 (PRELOGIN), RFC 5246 7.4.1.3 and RFC 8446 4.1.3 (ServerHello).
"""

import socket
import threading

PRELOGIN, REPLY, HANDSHAKE = 0x12, 0x04, 0x16
TDS_HEADER_BYTES = 8
# Enough for the flights of a handshake with a short chain of certificates.
HEAD_BYTES_MAX = 16384
ENCRYPTION = {0: "OFF", 1: "ON", 2: "NOT_SUP", 3: "REQ"}
TLS = {0x0303: "TLS 1.2", 0x0304: "TLS 1.3"}
CIPHERS = {
    0x1301: "AES_128_GCM_SHA256",
    0x1302: "AES_256_GCM_SHA384",
    0x1303: "CHACHA20_POLY1305_SHA256",
    0xC02B: "ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    0xC02C: "ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    0xC02F: "ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    0xC030: "ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    0xCCA8: "ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    0xCCA9: "ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
}


def in_login(password):
    """The password as LOGIN7 has it: UTF-16, nibbles swapped, XOR A5 (MS-TDS 2.2.6.4)."""
    return bytes((byte << 4 & 0xF0 | byte >> 4) ^ 0xA5 for byte in password.encode("utf-16-le"))


def number(data, at, length):
    """A number in network order; None beyond the end."""
    part = data[at : at + length]
    return int.from_bytes(part, "big") if len(part) == length else None


def prelogin_encryption(head):
    """The encryption option of the first message, by name; None if it is no PRELOGIN."""
    if head[:1] not in (bytes([PRELOGIN]), bytes([REPLY])):
        return None
    body = head[TDS_HEADER_BYTES:]
    at = 0
    while number(body, at, 1) not in (None, 0xFF):
        if body[at] == 1:
            value = number(body, number(body, at + 1, 2) or 0, 1)
            return ENCRYPTION.get(value, str(value))
        at += 5
    return None


def server_hello(head):
    """Version and cipher of the server's first handshake record, wherever it begins; None if there is none."""
    for at in range(len(head) - 50):
        is_record = head[at] == HANDSHAKE and head[at + 1] == 3 and head[at + 5] == 2
        if is_record and number(head, at + 6, 3) <= number(head, at + 3, 2) - 4 and head[at + 9 : at + 11] == b"\x03\x03":
            return hello_body(head[at + 9 :])
    return None


def hello_body(body):
    """Version (that of the extension supported_versions, if it is there) and cipher."""
    at = 34 + 1 + body[34]
    cipher = number(body, at, 2)
    version = 0x0303
    at += 3
    end = at + 2 + (number(body, at, 2) or 0)
    at += 2
    while at < end and number(body, at, 4) is not None:
        if number(body, at, 2) == 43:
            version = number(body, at + 4, 2)
        at += 4 + number(body, at + 2, 2)
    return TLS.get(version, hex(version)), CIPHERS.get(cipher, hex(cipher or 0))


# How long a connection may live on whose client has ended.
RELAY_SECONDS_MAX = 30


class Tap:
    """Relays connections to the server's port while it is used in a `with` statement. Behind it, `is_whole` says whether all that passed was looked at."""

    def __init__(self, server_port, watched):
        """`watched`: bytes to look for, by name."""
        self.server_port = server_port
        self.watched = watched
        self.seen = set()
        self.negotiated = set()
        self.lock = threading.Lock()
        self.relays = []
        self.is_whole = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()
        return self

    def __exit__(self, *_):
        # Wakes the thread that accepts: closed under it, the listener's number could be that of the next one, and it would take from that.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.acceptor.join()
        self.listener.close()
        # A client may end before the last bytes have come through.
        for relay in self.relays:
            relay.join(RELAY_SECONDS_MAX)
        self.is_whole = not any(relay.is_alive() for relay in self.relays)

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            relay = threading.Thread(target=self.relay, args=(client,), daemon=True)
            self.relays.append(relay)
            relay.start()

    def relay(self, client):
        """One connection, to its end."""
        try:
            server = socket.create_connection(("127.0.0.1", self.server_port))
        except OSError:
            client.close()
            return
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        heads = [bytearray(), bytearray()]
        up = threading.Thread(target=self.pump, args=(client, server, heads[0]), daemon=True)
        up.start()
        self.pump(server, client, heads[1])
        up.join()
        self.note(bytes(heads[0]), bytes(heads[1]))
        client.close()
        server.close()

    def pump(self, source, target, head):
        """Bytes one way; what is watched for is found across the borders of reads."""
        tail = b""
        keep = max(map(len, self.watched.values()), default=1) - 1
        try:
            while data := source.recv(65536):
                target.sendall(data)
                if len(head) < HEAD_BYTES_MAX:
                    head += data[: HEAD_BYTES_MAX - len(head)]
                text = tail + data
                for name, pattern in self.watched.items():
                    if pattern in text:
                        with self.lock:
                            self.seen.add(name)
                tail = text[-keep:] if keep else b""
        except OSError:
            pass
        for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
            try:
                end.shutdown(how)
            except OSError:
                pass

    def note(self, asked, answered):
        if not asked or not answered:
            return
        parts = []
        if asked[0] == HANDSHAKE:
            parts.append("TLS first")
        elif wish := prelogin_encryption(asked):
            parts.append(f"encryption asked {wish}, answered {prelogin_encryption(answered)}")
        else:
            parts.append("no PRELOGIN")
        hello = server_hello(answered)
        parts.append(" ".join(hello) if hello else "no TLS")
        with self.lock:
            self.negotiated.add(", ".join(parts))
