//! All chunks of a folder of backups: which there are, where each lies, and adding new ones.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_types::Hash;

use super::pack::{self, PackWriter, Placed};
use super::seal::{self, Cipher};
use crate::error::BackupError;

/// Files are cut into pieces of this size, so that a log that grew shares its beginning.
pub(crate) const CHUNK: usize = 256 * 1024;
/// What a chunk of any version may become.
const LARGEST: usize = 1024 * 1024;
/// A pack that is as long as this is finished and another one begun.
const PACK: u64 = 32 * 1024 * 1024;
/// Packs that are kept open for reading.
const MOST_OPEN: usize = 64;
/// A pack is written anew without what nobody names when that is more than a quarter of it.
const WASTE: u64 = 4;
const EXTENSION: &str = "pack";

pub(crate) struct Packs {
    folder: PathBuf,
    cipher: Arc<Cipher>,
    packs: Vec<Pack>,
    places: HashMap<Hash, ChunkLocation>,
    open: HashMap<usize, File>,
    writer: Option<PackWriter>,
    /// Bytes of new chunks in their kept form.
    pub(crate) written: u64,
}

struct Pack {
    path: PathBuf,
    /// It has its list at its end.
    is_listed: bool,
    chunks: Vec<Placed>,
}

#[derive(Clone, Copy)]
struct ChunkLocation {
    pack: usize,
    placed: Placed,
}

/// What a look at every byte of one chunk found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkState {
    /// It is whole and has so many bytes.
    Whole(u64),
    Damaged,
}

/// What a look at every byte of all packs found.
#[derive(Default)]
pub(crate) struct PacksState {
    pub(crate) chunks: HashMap<Hash, ChunkState>,
    pub(crate) flaws: Vec<PackFlaw>,
}

/// A pack whose list or beginning is damaged, which loses nothing by itself. One that no snapshot
/// uses is only what a killed backup left.
pub(crate) struct PackFlaw {
    pub(crate) what: String,
    pub(crate) chunks: Vec<Hash>,
}

impl Packs {
    pub(super) fn open(folder: &Path, cipher: &Arc<Cipher>) -> Result<Self, BackupError> {
        let mut packs = Self {
            folder: folder.to_owned(),
            cipher: Arc::clone(cipher),
            packs: Vec::new(),
            places: HashMap::new(),
            open: HashMap::new(),
            writer: None,
            written: 0,
        };
        for path in files_in(folder, EXTENSION)? {
            packs.take_in(&path)?;
        }
        Ok(packs)
    }

    fn take_in(&mut self, path: &Path) -> Result<(), BackupError> {
        let file = File::open(path).map_err(BackupError::at(path))?;
        let listed = pack::listed(&file).map_err(BackupError::at(path))?;
        let is_listed = listed.is_some();
        let chunks = match listed {
            Some(chunks) => chunks,
            // Its writer died, so nobody has seen yet whether its bytes reached the disk.
            None => self.whole_ones(&file).map_err(BackupError::at(path))?,
        };
        self.note(Pack { path: path.to_owned(), is_listed, chunks });
        Ok(())
    }

    fn whole_ones(&self, file: &File) -> io::Result<Vec<Placed>> {
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

    /// Gives packs whose writer died their list, so that they are read once only.
    pub(crate) fn mend(&mut self) -> Result<(), BackupError> {
        for pack in self.packs.iter_mut().filter(|pack| !pack.is_listed) {
            if pack.chunks.is_empty() {
                fs::remove_file(&pack.path).map_err(BackupError::at(&pack.path))?;
                continue;
            }
            pack::give_list(&pack.path, &pack.chunks).map_err(BackupError::at(&pack.path))?;
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

    /// Keeps a chunk unless it is there.
    pub(crate) fn add(&mut self, content: &[u8]) -> Result<Hash, BackupError> {
        let name = self.cipher.name(content);
        if self.places.contains_key(&name) {
            return Ok(name);
        }
        let folder = self.folder.clone();
        let kept = self.cipher.seal(name.as_bytes(), content).map_err(BackupError::at(&folder))?;
        self.write(name, &kept)?;
        Ok(name)
    }

    fn write(&mut self, name: Hash, kept: &[u8]) -> Result<(), BackupError> {
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let path = self.fresh_path()?;
                PackWriter::create(&path).map_err(BackupError::at(&path))?
            }
        };
        let placed = writer.add(name, kept).map_err(BackupError::at(&writer.path))?;
        // The pack that is being written comes after all others.
        self.places.insert(name, ChunkLocation { pack: self.packs.len(), placed });
        self.written += u64::from(placed.length);
        let is_full = writer.length() >= PACK;
        self.writer = Some(writer);
        if is_full { self.finish() } else { Ok(()) }
    }

    fn fresh_path(&self) -> Result<PathBuf, BackupError> {
        let random = seal::random::<8>().map_err(BackupError::at(&self.folder))?;
        Ok(self.folder.join(format!("{:016x}.{EXTENSION}", u64::from_le_bytes(random))))
    }

    /// Everything that was added is on the disk when this returns.
    pub(crate) fn finish(&mut self) -> Result<(), BackupError> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let path = writer.path.clone();
        let chunks = writer.finish().map_err(BackupError::at(&path))?;
        self.packs.push(Pack { path, is_listed: true, chunks });
        sync(&self.folder)
    }

    /// A chunk as it was added; `None` where it is missing or damaged.
    pub(crate) fn read(&mut self, name: &Hash) -> Result<Option<Vec<u8>>, BackupError> {
        let Some(ChunkLocation { pack, placed }) = self.places.get(name).copied() else {
            return Ok(None);
        };
        let path = self.packs[pack].path.clone();
        if !self.open.contains_key(&pack) {
            if self.open.len() >= MOST_OPEN {
                self.open.clear();
            }
            let file = File::open(&path).map_err(BackupError::at(&path))?;
            self.open.insert(pack, file);
        }
        let content = self.content(&self.open[&pack], &placed).map_err(BackupError::at(&path))?;
        Ok(content)
    }

    fn content(&self, file: &File, placed: &Placed) -> io::Result<Option<Vec<u8>>> {
        let mut kept = vec![0; placed.length as usize];
        match file.read_exact_at(&mut kept, placed.offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let content = self.cipher.open(placed.name.as_bytes(), &kept, LARGEST);
        Ok(content.ok().filter(|content| self.cipher.name(content) == placed.name))
    }

    fn look(&self, file: &File, placed: &Placed) -> io::Result<ChunkState> {
        if !pack::agrees(file, placed)? {
            return Ok(ChunkState::Damaged);
        }
        let content = self.content(file, placed)?;
        Ok(content.map_or(ChunkState::Damaged, |content| ChunkState::Whole(content.len() as u64)))
    }

    /// Reads every byte.
    pub(crate) fn examine(&self) -> Result<PacksState, BackupError> {
        let mut state = PacksState::default();
        for pack in &self.packs {
            let path = &pack.path;
            let shown = path.file_name().unwrap_or_default().display();
            let file = File::open(path).map_err(BackupError::at(path))?;
            let chunks = || pack.chunks.iter().map(|placed| placed.name).collect();
            if !pack::begins_well(&file).map_err(BackupError::at(path))? {
                let what = format!("the beginning of pack {shown} is damaged");
                state.flaws.push(PackFlaw { what, chunks: chunks() });
            }
            if !pack.is_listed {
                let what = format!("the list at the end of pack {shown} is damaged");
                state.flaws.push(PackFlaw { what, chunks: chunks() });
            }
            for placed in &pack.chunks {
                let found = self.look(&file, placed).map_err(BackupError::at(path))?;
                // One whole copy is enough.
                let known = state.chunks.entry(placed.name).or_insert(found);
                if found != ChunkState::Damaged {
                    *known = found;
                }
            }
        }
        Ok(state)
    }

    /// Removes chunks that are not wanted, and when it is thorough those that are damaged too.
    pub(crate) fn retain(
        &mut self,
        wanted: &HashSet<Hash>,
        thorough: Thorough,
    ) -> Result<(), BackupError> {
        let mut kept = HashSet::new();
        let mut left: Vec<PathBuf> = Vec::new();
        for pack in std::mem::take(&mut self.packs) {
            let good = match thorough {
                Thorough::Yes => self.good_ones(&pack)?,
                Thorough::No => pack.chunks.clone(),
            };
            let is_useful = |row: &&Placed| wanted.contains(&row.name) && !kept.contains(&row.name);
            let useful: Vec<Placed> = good.iter().filter(is_useful).copied().collect();
            let stays = match thorough {
                Thorough::Yes => useful.len() == pack.chunks.len() && begins_well(&pack.path)?,
                Thorough::No => !useful.is_empty() && !is_wasteful(&useful, &pack.chunks),
            };
            kept.extend(useful.iter().map(|row| row.name));
            if stays {
                self.packs.push(pack);
            } else {
                self.rescue(&pack.path, &useful)?;
                left.push(pack.path);
            }
        }
        // Copies are on the disk before anything goes.
        self.finish()?;
        for path in left {
            fs::remove_file(&path).map_err(BackupError::at(&path))?;
        }
        self.find_places();
        sync(&self.folder)
    }

    fn good_ones(&self, pack: &Pack) -> Result<Vec<Placed>, BackupError> {
        let file = File::open(&pack.path).map_err(BackupError::at(&pack.path))?;
        let mut good = Vec::new();
        for placed in &pack.chunks {
            let found = self.look(&file, placed).map_err(BackupError::at(&pack.path))?;
            if found != ChunkState::Damaged {
                good.push(*placed);
            }
        }
        Ok(good)
    }

    /// Writes chunks of a pack into another one, in their kept form.
    fn rescue(&mut self, from: &Path, useful: &[Placed]) -> Result<(), BackupError> {
        let file = File::open(from).map_err(BackupError::at(from))?;
        for placed in useful {
            let mut bytes = vec![0; placed.length as usize];
            file.read_exact_at(&mut bytes, placed.offset).map_err(BackupError::at(from))?;
            self.write(placed.name, &bytes)?;
        }
        Ok(())
    }
}

fn begins_well(path: &Path) -> Result<bool, BackupError> {
    let file = File::open(path).and_then(|file| pack::begins_well(&file));
    file.map_err(BackupError::at(path))
}

fn is_wasteful(useful: &[Placed], all: &[Placed]) -> bool {
    let length = |rows: &[Placed]| rows.iter().map(|row| u64::from(row.length)).sum::<u64>();
    let (useful, all) = (length(useful), length(all));
    (all - useful) * WASTE > all
}

/// How far removing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thorough {
    /// Nothing that is not wanted stays.
    Yes,
    /// A little that nobody names may stay, where writing the pack anew would cost more.
    No,
}

/// The files of a folder with this extension, in the order of their names.
pub(super) fn files_in(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, BackupError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(BackupError::at(folder))? {
        let path = entry.map_err(BackupError::at(folder))?.path();
        if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Names that were made or taken away in a folder are on the disk when this returns.
pub(crate) fn sync(folder: &Path) -> Result<(), BackupError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(BackupError::at(folder))
}
