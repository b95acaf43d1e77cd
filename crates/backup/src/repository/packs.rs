//! All chunks of a repository: which ones exist and in which pack, and how new ones are added.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use onyx_types::Hash;

use super::PACKS;
use super::pack::{self, PackPosition, PackWriter};
use super::place::{PlaceFiles, ReadAt};
use super::seal::{self, Cipher};
use crate::error::BackupError;

/// The size of the pieces into which files are cut. With fixed pieces, a log that grew shares its
/// beginning with the earlier one.
pub(crate) const CHUNK: usize = 256 * 1024;
/// The largest chunk that any version may have written.
const LARGEST: usize = 1024 * 1024;
/// A pack of this size is finished, and another one is begun.
const PACK: u64 = 32 * 1024 * 1024;
/// A pack is rewritten without its unused chunks when they are more than one in this many of its
/// bytes, which is a quarter.
const WASTE: u64 = 4;
const EXTENSION: &str = "pack";

pub(crate) struct Packs {
    files: Arc<dyn PlaceFiles>,
    cipher: Arc<Cipher>,
    packs: Vec<Pack>,
    places: HashMap<Hash, ChunkLocation>,
    open: HashMap<usize, Box<dyn ReadAt>>,
    writer: Option<PackWriter>,
    /// The total size of new chunks in their stored form.
    pub(crate) written: u64,
}

struct Pack {
    name: String,
    /// Whether the pack has its list at its end.
    is_listed: bool,
    chunks: Vec<PackPosition>,
}

#[derive(Clone, Copy)]
struct ChunkLocation {
    pack: usize,
    placed: PackPosition,
}

/// The result of reading every byte of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkState {
    /// The chunk is whole and has this many bytes.
    Whole(u64),
    Damaged,
}

/// The result of reading every byte of all packs.
#[derive(Default)]
pub(crate) struct PacksState {
    pub(crate) chunks: HashMap<Hash, ChunkState>,
    pub(crate) flaws: Vec<PackFlaw>,
}

/// A pack whose list or beginning is damaged. That alone loses no data, and a pack that no snapshot
/// uses was left by a killed backup.
pub(crate) struct PackFlaw {
    pub(crate) what: String,
    pub(crate) chunks: Vec<Hash>,
}

impl Packs {
    pub(super) fn open(
        files: &Arc<dyn PlaceFiles>,
        cipher: &Arc<Cipher>,
    ) -> Result<Self, BackupError> {
        let mut packs = Self {
            files: Arc::clone(files),
            cipher: Arc::clone(cipher),
            packs: Vec::new(),
            places: HashMap::new(),
            open: HashMap::new(),
            writer: None,
            written: 0,
        };
        for name in files.list(PACKS, EXTENSION)? {
            packs.take_in(name)?;
        }
        Ok(packs)
    }

    fn take_in(&mut self, name: String) -> Result<(), BackupError> {
        let file = self.files.open(&name)?;
        let listed = pack::listed(&*file).map_err(self.at(&name))?;
        let is_listed = listed.is_some();
        let chunks = match listed {
            Some(chunks) => chunks,
            // The writer died, so it is unknown whether the pack's bytes reached the disk.
            None => self.whole_ones(&*file).map_err(self.at(&name))?,
        };
        self.note(Pack { name, is_listed, chunks });
        Ok(())
    }

    fn at(&self, name: &str) -> impl FnOnce(io::Error) -> BackupError + use<> {
        BackupError::at(&self.files.shown(name))
    }

    fn whole_ones(&self, file: &dyn ReadAt) -> io::Result<Vec<PackPosition>> {
        let mut whole = Vec::new();
        for placed in pack::scanned(file)? {
            if self.look(file, &placed)? != ChunkState::Damaged {
                whole.push(placed);
            }
        }
        Ok(whole)
    }

    fn note(&mut self, pack: Pack) {
        let index = self.packs.len();
        for placed in &pack.chunks {
            self.places
                .entry(placed.name)
                .or_insert(ChunkLocation { pack: index, placed: *placed });
        }
        self.packs.push(pack);
    }

    /// Adds the missing lists of packs whose writer died, so that they are scanned only once.
    pub(crate) fn add_missing_lists(&mut self) -> Result<(), BackupError> {
        for pack in self.packs.iter_mut().filter(|pack| !pack.is_listed) {
            if pack.chunks.is_empty() {
                self.files.remove(&pack.name)?;
                continue;
            }
            pack::give_list(&*self.files, &pack.name, &pack.chunks)?;
            pack.is_listed = true;
        }
        self.packs.retain(|pack| pack.is_listed);
        self.find_places();
        Ok(())
    }

    fn find_places(&mut self) {
        self.places.clear();
        self.open.clear();
        for pack in std::mem::take(&mut self.packs) {
            self.note(pack);
        }
    }

    pub(crate) fn has(&self, name: &Hash) -> bool {
        self.places.contains_key(name)
    }

    /// Stores a chunk unless it already exists.
    pub(crate) fn add(&mut self, content: &[u8]) -> Result<Hash, BackupError> {
        let name = self.cipher.name(content);
        if self.places.contains_key(&name) {
            return Ok(name);
        }
        let kept = self.cipher.seal(name.as_bytes(), content).map_err(self.at(PACKS))?;
        self.write(name, &kept)?;
        Ok(name)
    }

    fn write(&mut self, name: Hash, kept: &[u8]) -> Result<(), BackupError> {
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let name = self.fresh_name()?;
                PackWriter::create(&*self.files, &name).map_err(self.at(&name))?
            }
        };
        let placed = writer.add(name, kept).map_err(self.at(&writer.name))?;
        // The pack that is being written comes after all others.
        self.places.insert(name, ChunkLocation { pack: self.packs.len(), placed });
        self.written += u64::from(placed.length);
        let is_full = writer.length() >= PACK;
        self.writer = Some(writer);
        if is_full { self.finish() } else { Ok(()) }
    }

    fn fresh_name(&self) -> Result<String, BackupError> {
        let random = seal::random::<8>().map_err(self.at(PACKS))?;
        Ok(format!("{PACKS}/{:016x}.{EXTENSION}", u64::from_le_bytes(random)))
    }

    /// Makes everything that was added durable.
    pub(crate) fn finish(&mut self) -> Result<(), BackupError> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let name = writer.name.clone();
        let chunks = writer.finish().map_err(self.at(&name))?;
        self.packs.push(Pack { name, is_listed: true, chunks });
        self.files.sync(PACKS)
    }

    /// The content of a chunk; `None` if it is missing or damaged.
    pub(crate) fn read(&mut self, name: &Hash) -> Result<Option<Vec<u8>>, BackupError> {
        let Some(ChunkLocation { pack, placed }) = self.places.get(name).copied() else {
            return Ok(None);
        };
        let path = &self.packs[pack].name;
        if !self.open.contains_key(&pack) {
            if self.open.len() >= self.files.most_open() {
                self.open.clear();
            }
            self.open.insert(pack, self.files.open(path)?);
        }
        self.content(&*self.open[&pack], &placed).map_err(self.at(path))
    }

    fn content(&self, file: &dyn ReadAt, placed: &PackPosition) -> io::Result<Option<Vec<u8>>> {
        let mut kept = vec![0; placed.length as usize];
        match file.read_exact_at(&mut kept, placed.offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let content = self.cipher.open(placed.name.as_bytes(), &kept, LARGEST);
        Ok(content.ok().filter(|content| self.cipher.name(content) == placed.name))
    }

    fn look(&self, file: &dyn ReadAt, placed: &PackPosition) -> io::Result<ChunkState> {
        if !pack::agrees(file, placed)? {
            return Ok(ChunkState::Damaged);
        }
        let content = self.content(file, placed)?;
        Ok(content.map_or(ChunkState::Damaged, |content| ChunkState::Whole(content.len() as u64)))
    }

    /// Reads and checks every byte.
    pub(crate) fn examine(&self) -> Result<PacksState, BackupError> {
        let mut state = PacksState::default();
        for pack in &self.packs {
            let name = &pack.name;
            let shown = name.rsplit('/').next().unwrap_or_default();
            let file = self.files.open(name)?;
            let chunks = || pack.chunks.iter().map(|placed| placed.name).collect();
            if !pack::begins_well(&*file).map_err(self.at(name))? {
                let what = format!("the beginning of pack {shown} is damaged");
                state.flaws.push(PackFlaw { what, chunks: chunks() });
            }
            if !pack.is_listed {
                let what = format!("the list at the end of pack {shown} is damaged");
                state.flaws.push(PackFlaw { what, chunks: chunks() });
            }
            for placed in &pack.chunks {
                let found = self.look(&*file, placed).map_err(self.at(name))?;
                // One intact copy of a chunk is enough.
                let known = state.chunks.entry(placed.name).or_insert(found);
                if found != ChunkState::Damaged {
                    *known = found;
                }
            }
        }
        Ok(state)
    }

    /// Removes unwanted chunks. With `UnusedChunks::Yes`, damaged ones are removed too.
    pub(crate) fn retain(
        &mut self,
        wanted: &HashSet<Hash>,
        thorough: UnusedChunks,
    ) -> Result<(), BackupError> {
        let mut kept = HashSet::new();
        let mut left: Vec<String> = Vec::new();
        for pack in std::mem::take(&mut self.packs) {
            let good = match thorough {
                UnusedChunks::Yes => self.good_ones(&pack)?,
                UnusedChunks::No => pack.chunks.clone(),
            };
            let is_useful =
                |row: &&PackPosition| wanted.contains(&row.name) && !kept.contains(&row.name);
            let useful: Vec<PackPosition> = good.iter().filter(is_useful).copied().collect();
            let stays = match thorough {
                UnusedChunks::Yes => {
                    useful.len() == pack.chunks.len() && self.begins_well(&pack.name)?
                }
                UnusedChunks::No => !useful.is_empty() && !is_wasteful(&useful, &pack.chunks),
            };
            kept.extend(useful.iter().map(|row| row.name));
            if stays {
                self.packs.push(pack);
            } else {
                self.rescue(&pack.name, &useful)?;
                left.push(pack.name);
            }
        }
        // The copies must be durable before anything is removed.
        self.finish()?;
        for name in left {
            self.files.remove(&name)?;
        }
        self.find_places();
        self.files.sync(PACKS)
    }

    fn good_ones(&self, pack: &Pack) -> Result<Vec<PackPosition>, BackupError> {
        let file = self.files.open(&pack.name)?;
        let mut good = Vec::new();
        for placed in &pack.chunks {
            let found = self.look(&*file, placed).map_err(self.at(&pack.name))?;
            if found != ChunkState::Damaged {
                good.push(*placed);
            }
        }
        Ok(good)
    }

    /// Copies the stored form of chunks from one pack to another.
    fn rescue(&mut self, from: &str, useful: &[PackPosition]) -> Result<(), BackupError> {
        let file = self.files.open(from)?;
        for placed in useful {
            let mut bytes = vec![0; placed.length as usize];
            file.read_exact_at(&mut bytes, placed.offset).map_err(self.at(from))?;
            self.write(placed.name, &bytes)?;
        }
        Ok(())
    }

    fn begins_well(&self, name: &str) -> Result<bool, BackupError> {
        pack::begins_well(&*self.files.open(name)?).map_err(self.at(name))
    }
}

fn is_wasteful(useful: &[PackPosition], all: &[PackPosition]) -> bool {
    let length = |rows: &[PackPosition]| rows.iter().map(|row| u64::from(row.length)).sum::<u64>();
    let (useful, all) = (length(useful), length(all));
    (all - useful) * WASTE > all
}

/// How thoroughly unused chunks are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnusedChunks {
    /// No unused chunk stays, even if a whole pack must be rewritten for one.
    Yes,
    /// A few unused chunks may stay if rewriting the pack would cost more.
    No,
}

/// Makes the creation and removal of names in a folder durable.
pub(crate) fn sync(folder: &Path) -> Result<(), BackupError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(BackupError::at(folder))
}
