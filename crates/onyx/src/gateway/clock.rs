//! The clock of a gateway: the machine's. A test may set it ahead, as if the machine's clock were wrong.

use std::sync::Arc;

use onyx_types::{Clock, SystemClock, Zone};

#[cfg(debug_assertions)]
pub(super) fn clock() -> Arc<dyn Clock> {
    let machine = SystemClock::in_zone(Zone::of_this_machine());
    match crate::env::test_clock_ahead() {
        Some(ahead) => Arc::new(test_clock::AheadClock { machine, ahead }),
        None => Arc::new(machine),
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::in_zone(Zone::of_this_machine()))
}

#[cfg(debug_assertions)]
mod test_clock {
    use std::time::Duration;

    use onyx_types::{Clock, Now, PersonId, SystemClock, Zone, Zones};

    #[derive(Debug)]
    pub(super) struct AheadClock {
        pub(super) machine: SystemClock,
        pub(super) ahead: Duration,
    }

    impl Clock for AheadClock {
        fn now(&self) -> Now {
            let Now { wall, mono } = self.machine.now();
            Now { wall: wall.saturating_add(self.ahead), mono }
        }

        fn zone_of(&self, person: &PersonId) -> Zone {
            self.machine.zone_of(person)
        }

        fn zones(&self) -> Option<&Zones> {
            self.machine.zones()
        }
    }
}
