"""ClickHouse's engine behind a port: POST a statement, get its result.

python chdb_server.py <folder> <port>. The engine answers one statement at a time, and statements
wait for each other here. What HTTP costs is little: headers are looked through for a length alone.
"""

import socket
import sys
import threading

from chdb import session

BACKLOG = 64
BUFFER_BYTES = 1 << 20


def main():
    folder, port = sys.argv[1], int(sys.argv[2])
    engine = session.Session(folder)
    turn = threading.Lock()
    listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection, engine, turn), daemon=True).start()


def serve(connection, engine, turn):
    held = bytearray()
    with connection:
        while True:
            request = read_request(connection, held)
            if request is None:
                return
            status, answer = run(request, engine, turn)
            head = f"HTTP/1.1 {status}\r\ncontent-length: {len(answer)}\r\n\r\n"
            connection.sendall(head.encode() + answer)


def run(statement, engine, turn):
    """A health check has no statement."""
    try:
        with turn:
            result = engine.query(statement, "JSONCompact") if statement else None
            return "200 OK", bytes(result.bytes()) if result is not None else b""
    except Exception as error:  # the engine's errors have no class of their own
        return "500 Internal Server Error", str(error).encode()


def read_request(connection, held):
    """The body of the next request as text, None at the end. Keeps in held what came too early."""
    while (end := held.find(b"\r\n\r\n")) < 0:
        part = connection.recv(BUFFER_BYTES)
        if not part:
            return None
        held += part
    length = 0
    for line in bytes(held[:end]).split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    whole = end + 4 + length
    while len(held) < whole:
        part = connection.recv(BUFFER_BYTES)
        if not part:
            return None
        held += part
    body = bytes(held[end + 4 : whole]).decode()
    del held[:whole]
    return body


main()
