use crate::{ErrorCode, Fault, Grant, Grants, PersonId};

/// A person whose credential may approve. All code that applies a draft, or takes a person's
/// agreement to an action, requires an approver, so no surface can approve without the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approver {
    person: PersonId,
    kind: ApproverKind,
}

/// The role of an approver in this home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApproverKind {
    Owner,
    Member,
}

impl Approver {
    /// An approval changes the person's data, so it needs the scope `write`: talking to an agent
    /// and approving its proposals are two separate rights.
    pub fn new(person: &PersonId, kind: ApproverKind, grants: Grants) -> Result<Self, Fault> {
        if grants.has(Grant::Write) {
            return Ok(Self { person: person.clone(), kind });
        }
        Err(Fault::new(
            ErrorCode::Forbidden,
            "approving needs the scope `write`, which this credential lacks",
        )
        .with_hint("Leave `confirm` out and approve in the Inbox, or use a token that may write."))
    }

    pub fn person(&self) -> &PersonId {
        &self.person
    }

    pub fn kind(&self) -> ApproverKind {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_may_write_may_approve() {
        let person: PersonId = "anna".parse().unwrap();
        for grant in Grant::ALL {
            let approver =
                Approver::new(&person, ApproverKind::Member, [grant].into_iter().collect());
            assert_eq!(approver.is_ok(), grant == Grant::Write, "{grant:?}");
        }
    }
}
