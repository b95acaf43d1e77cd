"""A link between a gateway and a server that can be cut, half closed, held up, made to lose answers, and made to refuse."""

import asyncio
import threading

PIECE = 65536
# What an object store answers that is asked for too much.
BUSY = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
REFUSAL = b"HTTP/1.1 503 Slow Down\r\ncontent-type: application/xml\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(BUSY), BUSY)


class Network:
    """Runs all links, in one thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def link(self, host, port):
        link = Link(host, port)
        self.call(link.listen())
        link.network = self
        return link


class Link:
    """A listening port and the address it forwards to. Its methods may be called from any thread."""

    def __init__(self, host, port):
        self.target = (host, port)
        self.port = None
        self.network = None
        self.connections = set()
        self.losing, self.mark = 0, b""
        self.lost = 0
        self.refusing, self.refused = False, 0
        self.holding_mark = None
        self.watcher = self.answer_watcher = None

    async def listen(self):
        self.open = asyncio.Event()
        self.open.set()
        self.server = await asyncio.start_server(self.carry, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def cut(self):
        """Ends every connection at once, on both sides."""

        async def cut():
            for connection in list(self.connections):
                connection.abort()

        self.network.call(cut())

    def half_close(self, side):
        """Ends one direction of every connection, as seen by its `server` or its `client`; the other direction goes on."""

        async def half_close():
            for connection in list(self.connections):
                connection.half_close(side)

        self.network.call(half_close())

    def refuse(self, refusing):
        """Answers every HTTP request with 503 itself, or stops doing so."""
        self.refusing = refusing

    def hold(self):
        """Holds back all bytes until `release`; nothing is lost or reordered."""
        self.network.loop.call_soon_threadsafe(self.open.clear)

    def hold_from(self, mark):
        """Holds back all bytes from the next request that contains the mark."""
        self.holding_mark = mark

    def is_held(self):
        return not self.open.is_set()

    def release(self):
        self.holding_mark = None
        self.network.loop.call_soon_threadsafe(self.open.set)

    def lose_answers(self, count, mark=b""):
        """Drops the answers to the next `count` requests that contain the mark; the requests reach the server."""
        self.mark, self.losing = mark, count

    def lead_to(self, host, port):
        self.target = (host, port)

    def close(self):
        async def close():
            self.server.close()
            for connection in list(self.connections):
                connection.abort()

        self.network.call(close())

    async def carry(self, client_reader, client_writer):
        try:
            server_reader, server_writer = await asyncio.open_connection(*self.target)
        except OSError:
            client_writer.transport.abort()
            return
        connection = Connection(client_writer, server_writer)
        self.connections.add(connection)
        try:
            await asyncio.gather(
                self.requests(client_reader, server_writer, connection),
                self.answers(server_reader, client_writer, connection),
            )
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            connection.abort()
            self.connections.discard(connection)

    async def requests(self, reader, writer, connection):
        while piece := await reader.read(PIECE):
            if self.holding_mark and self.holding_mark in piece:
                self.holding_mark = None
                self.open.clear()
            await self.open.wait()
            if self.watcher:
                self.watcher(connection, piece)
            if self.refusing and not connection.is_refused:
                self.refused += 1
                connection.refuse()
            if connection.is_refused or "server" in connection.closed:
                continue
            if self.losing and self.mark in piece:
                self.losing -= 1
                self.lost += 1
                connection.is_deaf = True
            writer.write(piece)
            await writer.drain()
        writer.close()

    async def answers(self, reader, writer, connection):
        while piece := await reader.read(PIECE):
            await self.open.wait()
            if self.answer_watcher:
                self.answer_watcher(connection, piece)
            if connection.is_deaf:
                # When the server answers, the change has been made, so only the answer is lost.
                connection.abort()
                return
            if connection.is_refused or "client" in connection.closed:
                continue
            writer.write(piece)
            await writer.drain()
        # Whoever was refused closes the connection after it has read that.
        if not connection.is_refused:
            writer.close()


class Connection:
    def __init__(self, client, server):
        self.sides, self.is_deaf = {"client": client, "server": server}, False
        self.is_refused, self.closed = False, set()
        # These are read by the code that watches this link.
        self.asked, self.answered, self.awaited = bytearray(), bytearray(), 0

    def half_close(self, side):
        if side not in self.closed and not self.sides[side].transport.is_closing():
            self.closed.add(side)
            self.sides[side].write_eof()

    def refuse(self):
        """Answers the client instead of the server, which hears nothing more on this connection."""
        self.is_refused = True
        self.sides["client"].write(REFUSAL)
        self.sides["client"].write_eof()
        self.sides["server"].transport.abort()

    def abort(self):
        for side in self.sides.values():
            side.transport.abort()
