"""What happens to gateways and their links while clients talk: one slow thing at a time, quick ones beside it."""

import collections
import signal
import threading
import time

# The specification's time limit until the runs of a dead gateway are closed.
FAILOVER = 20
# How soon after its last answer a gateway that was stopped in order has freed everything.
DRAIN = 1
# Longer than a lease of 15 seconds.
FROZEN = 17
# Longer than a lease and the sweep after it, so that held messages arrive after others have closed the runs.
HELD = 24

QUICK = ["kill", "kill", "drain", "cut", "lose", "lose", "half_close", "half_close", "store_cut", "store_half_close"]
SLOW = ["freeze", "hold", "hold", "down", "store_hold", "store_refuse", "roll"]
LENGTH = {"freeze": FROZEN, "hold": HELD + 5, "down": FAILOVER, "store_hold": 8, "store_refuse": 8, "roll": 15}
# Bytes that every line of a log contains. Only answers to statements with them are lost.
OF_A_TURN = b'"type":"'
# Bytes of the end of a run, which other gateways write too when its gateway is silent.
OF_AN_END = b'"type":"run_end"'
SAYS_WHY = "silent for longer than its life"


class Faults:
    def __init__(self, database, name, gateways, dice, may_fail_over):
        self.database, self.name, self.gateways, self.dice = database, name, gateways, dice
        self.done, self.failovers, self.drains, self.wrong = collections.Counter(), [], [], []
        self.busy, self.slow, self.may_fail_over = None, None, may_fail_over
        # A gateway is stopped and started by one fault at a time.
        self.restarts = {gateway.name: threading.Lock() for gateway in gateways}

    def disturb(self, seconds):
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, self.dice.uniform(0.5, 3)))
            if self.slow is None or not self.slow.is_alive():
                self.begin_slow(until - time.monotonic())
            gateway, fault = self.dice.choice(self.gateways), self.dice.choice(QUICK)
            if gateway is not self.busy:
                self.done[fault] += 1
                self.guarded(fault, gateway)
        if self.slow:
            self.slow.join()

    def begin_slow(self, left):
        self.busy = None
        if self.may_fail_over and self.dice.random() < 0.3:
            self.may_fail_over = False
            self.done["failover"] += 1
            self.fail_over()
            return
        gateway, fault = self.dice.choice(self.gateways), self.dice.choice(SLOW)
        if LENGTH[fault] < left:
            self.busy = gateway
            self.done[fault] += 1
            self.slow = threading.Thread(target=self.guarded, args=(fault, gateway), daemon=True)
            self.slow.start()

    def guarded(self, fault, gateway):
        try:
            getattr(self, fault)(gateway)
        except Exception as error:
            self.wrong.append(f"{fault} of {gateway.name} could not be done: {error}")

    def kill(self, gateway):
        with self.restarts[gateway.name]:
            gateway.kill()
            gateway.start()

    def down(self, gateway):
        """Kills the gateway and starts it again after others have closed its runs."""
        with self.restarts[gateway.name]:
            self.be_down(gateway)

    def be_down(self, gateway):
        incarnation = self.incarnation(gateway)
        its_runs = f"SELECT run FROM runs WHERE status IS NULL AND gateway = '{gateway.name}' AND incarnation = {incarnation}"
        gateway.kill()
        if self.database.sql(self.name, its_runs):
            took = self.until_none(its_runs)
            self.failovers.append(round(took, 1))
            if took > FAILOVER:
                self.wrong.append(f"the runs of {gateway.name} were open {took:.1f} s after it was killed")
        gateway.start()

    def freeze(self, gateway):
        said = gateway.log.read_text().count(SAYS_WHY)
        gateway.signal(signal.SIGSTOP)
        time.sleep(FROZEN)
        gateway.signal(signal.SIGCONT)
        until = time.monotonic() + 15
        while gateway.log.read_text().count(SAYS_WHY) == said:
            if time.monotonic() > until:
                self.wrong.append(f"{gateway.name} was frozen for {FROZEN} s and did not say that it begins anew")
                return
            time.sleep(0.2)

    def drain(self, gateway):
        """Stops the gateway in order: its answers in progress may end, and then it must free everything."""
        with self.restarts[gateway.name]:
            self.stop_in_order(gateway)

    def stop_in_order(self, gateway):
        incarnation, asked = self.incarnation(gateway), time.time()
        gateway.signal(signal.SIGTERM)
        gone = self.last_there(f"SELECT 1 FROM gateways WHERE incarnation = {incarnation} AND until > clock_timestamp()")
        last = self.database.sql(self.name, f"SELECT coalesce(max(ended_at), 0) FROM runs WHERE incarnation = {incarnation}")
        took = drain_time(asked, int(last[0]) / 1000, gone)
        self.drains.append(round(took, 1))
        if took > DRAIN:
            self.wrong.append(f"{gateway.name} was stopped in order and held its sessions for {took:.1f} s")
        gateway.process.wait()
        gateway.start()

    def roll(self, _):
        """Stops and starts all gateways, one after the other, as an upgrade does."""
        for gateway in self.gateways:
            with self.restarts[gateway.name]:
                gateway.signal(signal.SIGTERM)
                gateway.process.wait()
                gateway.start()

    def cut(self, gateway):
        gateway.to_database.cut()

    def half_close(self, gateway):
        gateway.to_database.half_close(self.dice.choice(["server", "client"]))

    def store_half_close(self, gateway):
        gateway.to_objects.half_close(self.dice.choice(["server", "client"]))

    def lose(self, gateway):
        gateway.to_database.lose_answers(2, OF_A_TURN)

    def hold(self, gateway):
        """Holds the link from a log line on, every other time from a run's end, until others hold the session."""
        link, until = gateway.to_database, time.monotonic() + 5
        link.hold_from(OF_AN_END if self.done["hold"] % 2 else OF_A_TURN)
        while not link.is_held() and time.monotonic() < until:
            time.sleep(0.01)
        link.hold()
        time.sleep(HELD)
        gateway.to_database.release()

    def store_cut(self, gateway):
        gateway.to_objects.cut()

    def store_hold(self, gateway):
        gateway.to_objects.hold()
        time.sleep(LENGTH["store_hold"])
        gateway.to_objects.release()

    def store_refuse(self, gateway):
        gateway.to_objects.refuse(True)
        time.sleep(LENGTH["store_refuse"])
        gateway.to_objects.refuse(False)

    def fail_over(self):
        port = self.database.fail_over()
        for gateway in self.gateways:
            gateway.to_database.lead_to("127.0.0.1", port)
            gateway.to_database.cut()

    def incarnation(self, gateway):
        return int(self.database.sql(self.name, f"SELECT incarnation FROM gateways WHERE id = '{gateway.name}'")[0])

    def until_none(self, select):
        begun = time.monotonic()
        while self.database.sql(self.name, select) and time.monotonic() - begun < 2 * FAILOVER:
            time.sleep(0.1)
        return time.monotonic() - begun

    def last_there(self, select):
        """Returns the last time at which rows were certainly there: how long it takes to look does not count."""
        there, until = time.time(), time.monotonic() + 2 * FAILOVER
        while time.monotonic() < until:
            looked = time.time()
            if not self.database.sql(self.name, select):
                break
            there = looked
            time.sleep(0.1)
        return there


def drain_time(asked, last_end, gone):
    """Returns the seconds from the end of the last answer until the gateway was gone; other gateways wrote any later ends."""
    return gone - max(asked, min(last_end, gone))
