//! Conversations that are stored as trees: each message names the one before it, and one message is
//! the newest.

use std::collections::{HashMap, HashSet};

/// The path from the first message to `leaf`, and how many messages are not on it.
pub(crate) fn path<'t, T>(
    nodes: &'t HashMap<&str, T>,
    leaf: &str,
    parent: impl Fn(&'t T) -> Option<&'t str>,
) -> (Vec<&'t T>, usize) {
    let mut seen = HashSet::new();
    let mut way = Vec::new();
    let mut next = nodes.get_key_value(leaf);
    while let Some((id, node)) = next {
        // A message that comes before itself would make the loop endless.
        if !seen.insert(*id) {
            break;
        }
        way.push(node);
        next = parent(node).and_then(|id| nodes.get_key_value(id));
    }
    way.reverse();
    let beside = nodes.len() - way.len();
    (way, beside)
}
