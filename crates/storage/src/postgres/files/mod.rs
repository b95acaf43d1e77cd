//! Files and folders. Each is a row, with a small content in the row and a large one in the object
//! store. The conditions of a write are checked in the transaction of the write. Folders are rows
//! so that no path can be a file and a folder at once.

mod blobs;
mod find;
mod objects;
mod rows;

use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{AgentId, PersonId};

use super::connect::Database;
use super::convert::get;
use super::gateway::{Gateway, LifeWriter};
use super::origins::PostgresOrigins;
use super::query;
use crate::{Area, FileLookup, Files, FoundObject, Objects, Origins, StoreError, WorkLife};

pub(crate) use blobs::{Blobs, SweepOwner};
use objects::PostgresObjects;

/// The files of all areas.
#[derive(Clone, Debug)]
pub(crate) struct PostgresFiles {
    database: Database,
    blobs: Blobs,
    origins: Arc<PostgresOrigins>,
    /// The gateway that writes; `None`: the program is not a gateway.
    writer: Option<LifeWriter>,
}

impl PostgresFiles {
    pub(crate) fn new(database: Database, blobs: Blobs) -> Self {
        let origins = Arc::new(PostgresOrigins::new(database.clone()));
        Self { database, blobs, origins, writer: None }
    }

    pub(crate) fn of_gateway(&self, gateway: Arc<Gateway>) -> Self {
        self.written_by(LifeWriter::new(gateway))
    }

    fn written_by(&self, writer: LifeWriter) -> Self {
        let origins = Arc::new(self.origins.written_by(writer.clone()));
        Self { writer: Some(writer), origins, ..self.clone() }
    }

    /// Files that belong to no particular person, in a folder outside of all areas.
    pub(crate) fn at(&self, root: &str) -> Arc<dyn Objects> {
        Arc::new(self.below("", root.to_owned()))
    }

    /// The files in any folder, for a move.
    pub(in crate::postgres) fn of(&self, person: &str, root: &str) -> impl Objects + use<> {
        self.below(person, root.to_owned())
    }

    fn below(&self, person: &str, root: String) -> PostgresObjects {
        PostgresObjects {
            database: self.database.clone(),
            blobs: self.blobs.clone(),
            writer: self.writer.clone(),
            person: person.to_owned(),
            root,
        }
    }

    fn area(&self, area: &Area) -> PostgresObjects {
        let person = match area {
            Area::Person(person) | Area::Vault(person) | Area::Memory(person, _) => person.as_str(),
            Area::Agent(_) | Area::Shared => "",
        };
        self.below(person, area.path())
    }

    /// Lists the names in a folder of the home. Names that are not ids are left out, because Onyx
    /// did not create them.
    async fn names_in<T: std::str::FromStr + Ord>(
        &self,
        folder: &str,
    ) -> Result<Vec<T>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT path FROM files
                      WHERE parent = $1 AND parent IN ('people', 'agents') ORDER BY path";
        let found = query::rows(&client, select, &[&folder]).await?;
        let mut names: Vec<T> = Vec::with_capacity(found.len());
        for row in &found {
            let path: &str = get(row, 0)?;
            let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
            names.extend(name.parse());
        }
        names.sort_unstable();
        Ok(names)
    }
}

#[async_trait]
impl Files for PostgresFiles {
    fn objects(&self, area: &Area) -> Result<Arc<dyn Objects>, StoreError> {
        Ok(Arc::new(self.area(area)))
    }

    async fn find(
        &self,
        wanted: Vec<(Area, FileLookup)>,
    ) -> Result<Vec<Result<FoundObject, StoreError>>, StoreError> {
        let wanted: Vec<_> = wanted.iter().map(|(area, one)| (self.area(area), one)).collect();
        find::find(&self.database, &wanted).await
    }

    fn incarnation(&self) -> Result<i64, StoreError> {
        self.writer.as_ref().map_or(Ok(0), LifeWriter::incarnation)
    }

    fn of_this_life(&self) -> Option<Arc<dyn Files>> {
        let writer = self.writer.as_ref()?.of_this_life();
        Some(Arc::new(self.written_by(writer)))
    }

    fn life(&self) -> WorkLife {
        self.writer.as_ref().map_or(WorkLife::Current, LifeWriter::life)
    }

    fn origins(&self) -> Arc<dyn Origins> {
        Arc::clone(&self.origins) as Arc<dyn Origins>
    }

    /// Lists the people who have files. A person who has a log counts too, as in a home.
    async fn people(&self) -> Result<Vec<PersonId>, StoreError> {
        let mut people: Vec<PersonId> = self.names_in("people").await?;
        let client = self.database.client().await?;
        // The recursive query looks at the index once for each person instead of once for each
        // session.
        let with_logs = query::rows(
            &client,
            "WITH RECURSIVE people AS (
                 (SELECT person FROM session_log ORDER BY person LIMIT 1)
                 UNION ALL
                 SELECT (SELECT person FROM session_log WHERE session_log.person > people.person
                         ORDER BY person LIMIT 1)
                 FROM people WHERE people.person IS NOT NULL)
             SELECT person FROM people WHERE person IS NOT NULL",
            &[],
        )
        .await?;
        for row in &with_logs {
            people.push(super::convert::parsed(row, 0)?);
        }
        people.sort_unstable();
        people.dedup();
        Ok(people)
    }

    async fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        self.names_in("agents").await
    }
}
