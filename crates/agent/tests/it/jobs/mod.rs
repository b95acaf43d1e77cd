//! Jobs with a clock that the test moves.

mod catching_up;
mod firing;
mod slots;
