use onyx_types::AgentId;

use crate::settings::{Binding, BindingMatch, PeerMatch};

/// The origin of a message, as far as bindings can match it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker<'a> {
    pub network: &'a str,
    pub account: &'a str,
    pub guild: Option<&'a str>,
    pub peer: &'a str,
    pub thread: &'a str,
}

/// The agent of the most specific binding that matches. Among equally specific ones the first
/// counts.
pub fn agent_for(bindings: &[Binding], asker: Asker<'_>) -> Option<AgentId> {
    let mut best: Option<(u32, &Binding)> = None;
    for binding in bindings {
        let Some(rank) = rank(&binding.matches, asker) else { continue };
        if best.is_none_or(|(before, _)| rank > before) {
            best = Some((rank, binding));
        }
    }
    best.and_then(|(_, binding)| binding.agent_id.parse().ok())
}

/// How specific a match is; `None` if it does not match. A narrower condition outweighs all wider
/// ones.
fn rank(matches: &BindingMatch, asker: Asker<'_>) -> Option<u32> {
    let peer = matches.peer.as_ref().map(PeerMatch::id);
    let guild = matches.guild_id.as_ref().map(ToString::to_string);
    let thread = matches.thread.as_ref().map(ToString::to_string);
    let conditions = [
        (matches.channel.as_deref(), Some(asker.network), 1),
        (matches.account_id.as_deref(), Some(asker.account), 2),
        (guild.as_deref(), asker.guild, 4),
        (peer.as_deref(), Some(asker.peer), 8),
        (thread.as_deref(), Some(asker.thread), 16),
    ];
    let mut rank = 0;
    for (wanted, is, weight) in conditions {
        match wanted {
            None | Some("*") => {}
            Some(wanted) if Some(wanted) == is => rank += weight,
            Some(_) => return None,
        }
    }
    Some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bindings(text: &str) -> Vec<Binding> {
        serde_json::from_str(text).unwrap()
    }

    fn asker<'a>(network: &'a str, peer: &'a str, thread: &'a str) -> Asker<'a> {
        Asker { network, account: "main", guild: Some("77"), peer, thread }
    }

    #[test]
    fn the_most_specific_binding_wins_wherever_it_stands() {
        let all = bindings(
            r#"[{"agentId":"wide","match":{"channel":"telegram"}},
                {"agentId":"topic","match":{"channel":"telegram","peer":5,"thread":"9"}},
                {"agentId":"peer","match":{"channel":"telegram","peer":{"kind":"dm","id":"5"}}},
                {"agentId":"guild","match":{"channel":"discord","guildId":77}},
                {"agentId":"any"}]"#,
        );
        let chosen = |network, peer, thread| {
            agent_for(&all, asker(network, peer, thread)).map(|agent| agent.to_string())
        };
        assert_eq!(chosen("telegram", "1", "").as_deref(), Some("wide"));
        assert_eq!(chosen("telegram", "5", "").as_deref(), Some("peer"));
        assert_eq!(chosen("telegram", "5", "9").as_deref(), Some("topic"));
        assert_eq!(chosen("discord", "5", "9").as_deref(), Some("guild"));
        assert_eq!(chosen("webhook", "5", "9").as_deref(), Some("any"));
        assert_eq!(agent_for(&all[..4], asker("webhook", "5", "9")), None);
    }

    #[test]
    fn of_equals_the_first_wins() {
        let all = bindings(
            r#"[{"agentId":"a","match":{"channel":"telegram"}},
                {"agentId":"b","match":{"channel":"telegram"}}]"#,
        );
        assert_eq!(agent_for(&all, asker("telegram", "1", "")).unwrap().as_str(), "a");
    }
}
