//! A clock that moves only when a test moves it.

use onyx_types::{Clock, Now, PersonId, Timestamp, Zone, Zones};
use std::sync::Mutex;
use std::time::Duration;

/// A clock that starts at 2026-01-01T00:00:00Z. Wall and monotonic time advance together, and the
/// wall time alone can jump, as that of real clocks can.
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<Now>,
    zones: Zones,
}

impl ManualClock {
    pub fn new() -> Self {
        Self::at(Timestamp::from_millis(1_767_225_600_000))
    }

    pub fn at(wall: Timestamp) -> Self {
        Self { now: Mutex::new(Now { wall, mono: Duration::ZERO }), zones: Zones::default() }
    }

    pub fn advance(&self, by: Duration) {
        let mut now = self.now.lock().expect("no holder of this lock panics");
        now.wall = now.wall.saturating_add(by);
        now.mono += by;
    }

    /// Sets the wall clock forward or back; monotonic time does not change.
    pub fn jump_wall_to(&self, wall: Timestamp) {
        self.now.lock().expect("no holder of this lock panics").wall = wall;
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        *self.now.lock().expect("no holder of this lock panics")
    }

    fn zone_of(&self, person: &PersonId) -> Zone {
        self.zones.of(person)
    }

    fn zones(&self) -> Option<&Zones> {
        Some(&self.zones)
    }
}
