//! All valid credentials, in memory. The ledger holds the same rows, and each change is written
//! there first.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use onyx_storage::{CredentialKind, CredentialRow, PersonRow, Role};
use onyx_types::{Cancel, CredentialId, Grants, Hash, PersonId, Timestamp};
use subtle::ConstantTimeEq;

use crate::issuing::{IssuedCredential, Permit};
use crate::people::{Person, PersonSource};
use crate::random::derived_id;
use crate::settings::DeclaredPeople;

/// A token to create.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The people the token may speak for; the first is the default.
    pub people: Vec<PersonId>,
    pub name: String,
    pub grants: Grants,
    pub lifetime: Lifetime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    UntilRevoked,
    For(Duration),
}

/// How many sessions, and how many refresh tokens, one person can have at once.
const MOST_SIGNED_IN: usize = 64;

pub(crate) struct Register {
    declared: DeclaredPeople,
    added: BTreeMap<PersonId, PersonRow>,
    passwords: HashMap<PersonId, Password>,
    owner_token: RootCredential,
    held: HashMap<CredentialId, KnownCredential>,
    by_hash: HashMap<Hash, CredentialId>,
    /// The signals of ended credentials. They are sent last, so that a person who ends their own
    /// credential still gets an answer.
    ending: Vec<Cancel>,
}

/// A credential that can create others and has no row of its own.
#[derive(Clone)]
pub(crate) struct RootCredential {
    pub(crate) id: CredentialId,
    pub(crate) revoked: Cancel,
}

#[derive(Clone)]
pub(crate) struct Password {
    pub(crate) phc: String,
    pub(crate) root: RootCredential,
}

#[derive(Clone)]
pub(crate) struct KnownCredential {
    pub(crate) row: CredentialRow,
    pub(crate) revoked: Cancel,
}

impl RootCredential {
    fn of(kind: &str, text: &str) -> Self {
        Self { id: derived_id(kind, text), revoked: Cancel::new() }
    }

    fn renew(&mut self) -> Cancel {
        std::mem::take(&mut self.revoked)
    }
}

impl Password {
    fn new(phc: String) -> Self {
        Self { root: RootCredential::of("password", &phc), phc }
    }
}

impl Register {
    pub(crate) fn new(
        declared: DeclaredPeople,
        added: Vec<PersonRow>,
        passwords: Vec<(PersonId, String)>,
        rows: Vec<CredentialRow>,
    ) -> Self {
        let mut register = Self {
            owner_token: RootCredential::of("token", declared.owner_token.as_str()),
            declared,
            added: added.into_iter().map(|row| (row.person.clone(), row)).collect(),
            passwords: passwords.into_iter().map(|(id, phc)| (id, Password::new(phc))).collect(),
            held: HashMap::new(),
            by_hash: HashMap::new(),
            ending: Vec::new(),
        };
        for row in rows {
            register.insert(row);
        }
        register
    }

    /// The config's owner, else the owner that was made at the first start.
    pub(crate) fn owner(&self) -> Option<&PersonId> {
        let first = self.added.values().find(|row| row.role == Role::Owner);
        self.declared.owner.as_ref().or_else(|| first.map(|row| &row.person))
    }

    pub(crate) fn people(&self) -> Vec<Person> {
        let declared =
            self.declared.people.iter().map(|person| {
                (person.id(), person.name().map(str::to_owned), PersonSource::Config)
            });
        let added =
            self.added.values().map(|row| (&row.person, row.name.clone(), PersonSource::Added));
        let mut people: BTreeMap<&PersonId, Person> = BTreeMap::new();
        // For a person who is both added and in the config, the config takes precedence.
        for (id, name, source) in added.chain(declared) {
            let role = if Some(id) == self.owner() { Role::Owner } else { Role::Member };
            let has_password = self.passwords.contains_key(id);
            people.insert(id, Person { id: id.clone(), name, role, source, has_password });
        }
        people.into_values().collect()
    }

    pub(crate) fn is_person(&self, id: &PersonId) -> bool {
        self.added.contains_key(id) || self.declared.people.iter().any(|person| person.id() == id)
    }

    /// The added person with this id. Requests may remove only added people.
    pub(crate) fn added(&self, id: &PersonId) -> Option<&PersonRow> {
        self.added.get(id)
    }

    pub(crate) fn password(&self, id: &PersonId) -> Option<Password> {
        self.passwords.get(id).filter(|_| self.is_person(id)).cloned()
    }

    pub(crate) fn has_chosen_credentials(&self) -> bool {
        !self.passwords.is_empty()
            || self.held.values().any(|held| held.row.kind == CredentialKind::Token)
    }

    /// Returns the owner's token if the sent text matches it.
    pub(crate) fn owner_token(&self, sent: &str) -> Option<RootCredential> {
        let expected = self.declared.owner_token.as_str();
        bool::from(sent.as_bytes().ct_eq(expected.as_bytes())).then(|| self.owner_token.clone())
    }

    /// Looks up the hash of the sent secret: since secrets are random, the time this takes reveals
    /// nothing.
    pub(crate) fn find(
        &self,
        hash: Hash,
        kind: CredentialKind,
        now: Timestamp,
    ) -> Option<KnownCredential> {
        let held = self.by_id(*self.by_hash.get(&hash)?, now)?;
        (held.row.kind == kind).then_some(held)
    }

    pub(crate) fn by_id(&self, id: CredentialId, now: Timestamp) -> Option<KnownCredential> {
        self.held.get(&id).filter(|held| !is_over(&held.row, now)).cloned()
    }

    pub(crate) fn rows(&self, now: Timestamp) -> Vec<CredentialRow> {
        let mut rows: Vec<_> = self.held.values().map(|held| held.row.clone()).collect();
        rows.retain(|row| !is_over(row, now));
        rows.sort_by_key(|row| row.credential);
        rows
    }

    pub(crate) fn hold(&mut self, issued: IssuedCredential) {
        self.insert(issued.into_row());
    }

    fn insert(&mut self, row: CredentialRow) {
        let id = row.credential;
        // A refresh token that is exchanged keeps its credential and gets a new secret.
        let before = self.held.remove(&id);
        if let Some(before) = &before {
            self.by_hash.remove(&before.row.hash);
        }
        self.by_hash.insert(row.hash, id);
        let held =
            KnownCredential { row, revoked: before.map_or_else(Cancel::new, |held| held.revoked) };
        self.held.insert(id, held);
    }

    /// Removes credentials and everything that was made with them. Returns the ids of all that were
    /// removed.
    pub(crate) fn drop_credentials(&mut self, ids: &[CredentialId]) -> Vec<CredentialId> {
        let mut gone = Vec::new();
        for id in ids {
            self.remove_held(*id, &mut gone);
        }
        self.drop_orphans(&mut gone);
        gone
    }

    /// Each person's oldest credentials beyond `MOST_SIGNED_IN` of a kind: no one uses so many
    /// browsers.
    pub(crate) fn surplus(&self) -> Vec<CredentialId> {
        let mut signed_in: HashMap<_, Vec<CredentialId>> = HashMap::new();
        for KnownCredential { row, .. } in self.held.values() {
            if row.kind != CredentialKind::Token {
                signed_in.entry((row.kind, row.people.first())).or_default().push(row.credential);
            }
        }
        let mut surplus = Vec::new();
        for mut ids in signed_in.into_values() {
            // Ids sort by the time they were made.
            ids.sort_unstable();
            let kept = ids.len().min(MOST_SIGNED_IN);
            surplus.extend(&ids[..ids.len() - kept]);
        }
        surplus
    }

    pub(crate) fn over(&self, now: Timestamp) -> Vec<CredentialId> {
        let over = self.held.values().filter(|held| is_over(&held.row, now));
        over.map(|held| held.row.credential).collect()
    }

    /// Applies the config. Returns the credentials that ended because of it.
    pub(crate) fn declare(&mut self, declared: DeclaredPeople) -> Vec<CredentialId> {
        let before = self.everybody();
        if self.declared.owner_token != declared.owner_token {
            let fresh = RootCredential::of("token", declared.owner_token.as_str());
            self.ending.push(std::mem::replace(&mut self.owner_token, fresh).revoked);
        }
        let owner = self.owner().cloned();
        self.declared = declared;
        if self.owner() != owner.as_ref() {
            self.ending.push(self.owner_token.renew());
        }
        self.close_for_those_who_left(&before);
        self.drop_credentials(&[])
    }

    /// Applies the ledger's rows after another gateway changed them. Returns the credentials that
    /// ended because of it and that are still in the ledger.
    pub(crate) fn replace(
        &mut self,
        people: Vec<PersonRow>,
        passwords: Vec<(PersonId, String)>,
        rows: Vec<CredentialRow>,
    ) -> Vec<CredentialId> {
        let before = self.everybody();
        self.added = people.into_iter().map(|row| (row.person.clone(), row)).collect();
        self.close_for_those_who_left(&before);
        let passwords: HashMap<_, _> = passwords.into_iter().collect();
        let ended: Vec<PersonId> = self
            .passwords
            .iter()
            .filter(|(id, known)| passwords.get(*id) != Some(&known.phc))
            .map(|(id, _)| id.clone())
            .collect();
        for id in ended {
            let before = self.passwords.remove(&id);
            self.ending.extend(before.map(|before| before.root.revoked));
        }
        for (id, phc) in passwords {
            self.passwords.entry(id).or_insert_with(|| Password::new(phc));
        }
        let there: HashSet<CredentialId> = rows.iter().map(|row| row.credential).collect();
        let gone: Vec<_> = self.held.keys().filter(|id| !there.contains(id)).copied().collect();
        for id in gone {
            self.remove_held(id, &mut Vec::new());
        }
        for row in rows {
            if self.held.get(&row.credential).is_none_or(|held| held.row != row) {
                self.insert(row);
            }
        }
        self.drop_credentials(&[])
    }

    pub(crate) fn add_person(&mut self, row: PersonRow) {
        self.added.insert(row.person.clone(), row);
    }

    pub(crate) fn remove_person(&mut self, id: &PersonId) -> Vec<CredentialId> {
        let before = self.everybody();
        self.added.remove(id);
        self.close_for_those_who_left(&before);
        let theirs: Vec<_> = self
            .held
            .values()
            .filter(|held| held.row.people.first() == Some(id))
            .map(|held| held.row.credential)
            .collect();
        self.remove_password(id).into_iter().chain(self.drop_credentials(&theirs)).collect()
    }

    pub(crate) fn set_password(&mut self, permit: &Permit, phc: &str) -> Vec<CredentialId> {
        for id in permit.people() {
            let before = self.passwords.insert(id.clone(), Password::new(phc.to_owned()));
            self.ending.extend(before.map(|before| before.root.revoked));
        }
        self.drop_credentials(&[])
    }

    pub(crate) fn remove_password(&mut self, id: &PersonId) -> Vec<CredentialId> {
        let before = self.passwords.remove(id);
        self.ending.extend(before.map(|before| before.root.revoked));
        self.drop_credentials(&[])
    }

    pub(crate) fn take_ending(&mut self) -> Vec<Cancel> {
        std::mem::take(&mut self.ending)
    }

    fn everybody(&self) -> HashSet<PersonId> {
        self.people().into_iter().map(|person| person.id).collect()
    }

    /// Ends the open connections of people who are no longer here. They keep their credentials,
    /// because they may come back.
    fn close_for_those_who_left(&mut self, before: &HashSet<PersonId>) {
        let after = self.everybody();
        let left: Vec<_> = before.difference(&after).collect();
        for held in self.held.values_mut() {
            if held.row.people.iter().any(|person| left.contains(&person)) {
                self.ending.push(std::mem::take(&mut held.revoked));
            }
        }
        for (_, password) in self.passwords.iter_mut().filter(|(id, _)| left.contains(id)) {
            self.ending.push(password.root.renew());
        }
    }

    fn drop_orphans(&mut self, gone: &mut Vec<CredentialId>) {
        loop {
            let orphans: Vec<_> = self
                .held
                .values()
                .filter(|held| held.row.parent.is_some_and(|parent| !self.lives(parent)))
                .map(|held| held.row.credential)
                .collect();
            if orphans.is_empty() {
                return;
            }
            for id in orphans {
                self.remove_held(id, gone);
            }
        }
    }

    fn lives(&self, id: CredentialId) -> bool {
        self.owner_token.id == id
            || self.held.contains_key(&id)
            || self.passwords.values().any(|password| password.root.id == id)
    }

    fn remove_held(&mut self, id: CredentialId, gone: &mut Vec<CredentialId>) {
        if let Some(held) = self.held.remove(&id) {
            self.by_hash.remove(&held.row.hash);
            self.ending.push(held.revoked);
            gone.push(id);
        }
    }
}

fn is_over(row: &CredentialRow, now: Timestamp) -> bool {
    row.expires_at.is_some_and(|at| at <= now)
}
