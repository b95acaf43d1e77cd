use std::collections::BTreeMap;

use async_trait::async_trait;
use onyx_storage::{
    Accounts, CredentialRow, PersonRow, SealedSecret, SealedSecrets, SecretId, StoreError,
};
use onyx_types::{CredentialId, PersonId};

use super::MemoryDisk;

/// The people with their credentials, and the sealed secrets.
#[derive(Default)]
pub(super) struct Doors {
    people: BTreeMap<PersonId, PersonRow>,
    passwords: BTreeMap<PersonId, String>,
    /// The credentials by id; ids sort in the order in which they were made.
    credentials: BTreeMap<CredentialId, CredentialRow>,
    secrets: BTreeMap<SecretId, SealedSecret>,
}

pub(super) struct MemoryAccounts {
    disk: MemoryDisk,
}

impl MemoryAccounts {
    pub(super) fn new(disk: MemoryDisk) -> Self {
        Self { disk }
    }
}

#[async_trait]
impl Accounts for MemoryAccounts {
    async fn changes(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn people(&self) -> Result<Vec<PersonRow>, StoreError> {
        Ok(self.disk.lock().doors.people.values().cloned().collect())
    }

    async fn add_person(&self, row: PersonRow) -> Result<(), StoreError> {
        let people = &mut self.disk.lock().doors.people;
        if people.contains_key(&row.person) {
            return Err(StoreError::Conflict);
        }
        people.insert(row.person.clone(), row);
        Ok(())
    }

    async fn remove_person(&self, person: &PersonId) -> Result<(), StoreError> {
        let doors = &mut self.disk.lock().doors;
        doors.people.remove(person).ok_or(StoreError::NotFound)?;
        doors.passwords.remove(person);
        doors.credentials.retain(|_, row| row.people.first() != Some(person));
        Ok(())
    }

    async fn passwords(&self) -> Result<Vec<(PersonId, String)>, StoreError> {
        let disk = self.disk.lock();
        let passwords = disk.doors.passwords.iter();
        Ok(passwords.map(|(person, hash)| (person.clone(), hash.clone())).collect())
    }

    async fn set_password(&self, person: &PersonId, hash: String) -> Result<(), StoreError> {
        self.disk.lock().doors.passwords.insert(person.clone(), hash);
        Ok(())
    }

    async fn remove_password(&self, person: &PersonId) -> Result<(), StoreError> {
        self.disk.lock().doors.passwords.remove(person);
        Ok(())
    }

    async fn credentials(&self) -> Result<Vec<CredentialRow>, StoreError> {
        Ok(self.disk.lock().doors.credentials.values().cloned().collect())
    }

    async fn put_credential(&self, row: CredentialRow) -> Result<(), StoreError> {
        self.disk.lock().doors.credentials.insert(row.credential, row);
        Ok(())
    }

    async fn remove_credentials(&self, ids: &[CredentialId]) -> Result<(), StoreError> {
        self.disk.lock().doors.credentials.retain(|id, _| !ids.contains(id));
        Ok(())
    }
}

#[async_trait]
impl SealedSecrets for MemoryAccounts {
    async fn secrets(&self) -> Result<Vec<SealedSecret>, StoreError> {
        Ok(self.disk.lock().doors.secrets.values().cloned().collect())
    }

    async fn put_secrets(&self, rows: Vec<SealedSecret>) -> Result<(), StoreError> {
        let secrets = &mut self.disk.lock().doors.secrets;
        secrets.extend(rows.into_iter().map(|row| (row.id.clone(), row)));
        Ok(())
    }

    async fn remove_secret(&self, id: &SecretId) -> Result<(), StoreError> {
        let removed = self.disk.lock().doors.secrets.remove(id);
        removed.map(|_| ()).ok_or(StoreError::NotFound)
    }
}
