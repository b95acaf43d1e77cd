//! Finds the documents of a source, and fetches each.

use std::collections::BTreeSet;

use onyx_egress::{Address, Egress};
use onyx_extract::LARGEST_DOCUMENT;
use onyx_storage::{ObjectKey, Objects, StoreError};

use crate::Supply;
use crate::karakeep::{self, MOST_BOOKMARKS};

const MOST_FILES: usize = 5_000;
const MOST_IN_A_FOLDER: usize = 10_000;
const ACCEPT: &str = "text/html, application/pdf, text/*;q=0.9, */*;q=0.5";
/// The file that holds an uploaded or pasted document unchanged. It is hidden, so searches leave it
/// out.
pub(crate) const ORIGINAL: &str = ".original";

/// A document before its text is extracted.
pub(crate) struct Raw {
    pub(crate) name: String,
    pub(crate) media_type: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

/// The origin of one document.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Vault(ObjectKey),
    Address(String),
    Kept {
        name: String,
        media_type: Option<String>,
    },
    /// One of the bookmarks in an uploaded file.
    Bookmark {
        from: String,
        markdown: String,
    },
}

impl Item {
    pub(crate) fn from(&self) -> String {
        match self {
            Self::Vault(key) => key.to_string(),
            Self::Address(url) => url.clone(),
            Self::Kept { name, .. } => name.clone(),
            Self::Bookmark { from, .. } => from.clone(),
        }
    }
}

pub(crate) struct Places<'a> {
    pub(crate) vault: &'a dyn Objects,
    pub(crate) person: &'a dyn Objects,
    /// The folder of the source, within the person's files.
    pub(crate) folder: &'a ObjectKey,
    pub(crate) egress: &'a Egress,
}

impl Places<'_> {
    /// The source's current documents, or a sentence for the person that says why there are none.
    pub(crate) async fn items(&self, supply: &Supply, title: &str) -> Result<Vec<Item>, String> {
        match supply {
            Supply::File { path } => Ok(vec![Item::Vault(key(path)?)]),
            Supply::Folder { path } => self.below(key(path)?).await,
            Supply::Url { url } => Ok(vec![Item::Address(url.clone())]),
            Supply::Upload { name, media_type } => match self.bookmarks().await? {
                Some(bookmarks) => Ok(bookmarks),
                None => Ok(vec![Item::Kept { name: name.clone(), media_type: media_type.clone() }]),
            },
            Supply::Text => {
                let media_type = Some("text/markdown; charset=utf-8".to_owned());
                Ok(vec![Item::Kept { name: title.to_owned(), media_type }])
            }
        }
    }

    pub(crate) async fn fetch(&self, item: &Item) -> Result<Raw, String> {
        match item {
            Item::Vault(key) => {
                let bytes = whole(self.vault, key).await?;
                Ok(Raw { name: key.to_string(), media_type: None, bytes })
            }
            Item::Kept { name, media_type } => {
                let key = self.folder.join(ORIGINAL).map_err(|error| error.to_string())?;
                let bytes = whole(self.person, &key).await?;
                Ok(Raw { name: name.clone(), media_type: media_type.clone(), bytes })
            }
            Item::Address(url) => download(self.egress, url).await,
            Item::Bookmark { from, markdown } => Ok(Raw {
                name: from.clone(),
                media_type: Some("text/markdown; charset=utf-8".to_owned()),
                bytes: markdown.clone().into_bytes(),
            }),
        }
    }

    /// The bookmarks of an uploaded file; `None` if it is another kind of file.
    async fn bookmarks(&self) -> Result<Option<Vec<Item>>, String> {
        let key = self.folder.join(ORIGINAL).map_err(|error| error.to_string())?;
        let Some(bookmarks) = karakeep::read(&whole(self.person, &key).await?) else {
            return Ok(None);
        };
        if bookmarks.len() > MOST_BOOKMARKS {
            return Err(format!("there are more than {MOST_BOOKMARKS} bookmarks"));
        }
        let mut known = BTreeSet::new();
        let items = bookmarks.iter().enumerate().map(|(place, bookmark)| Item::Bookmark {
            from: bookmark.from(place),
            markdown: bookmark.markdown(),
        });
        // An address that was bookmarked twice becomes one document.
        Ok(Some(items.filter(|item| known.insert(item.from())).collect()))
    }

    async fn below(&self, root: ObjectKey) -> Result<Vec<Item>, String> {
        let (mut items, mut folders) = (Vec::new(), vec![root]);
        while let Some(folder) = folders.pop() {
            let children = match self.vault.list(Some(&folder), MOST_IN_A_FOLDER).await {
                Err(StoreError::NotFound) => return Err(format!("there is no folder {folder}")),
                children => children.map_err(|error| format!("{folder}: {error}"))?,
            };
            for child in children.into_iter().filter(|child| !child.key.is_hidden()) {
                if child.is_folder {
                    folders.push(child.key);
                } else {
                    items.push(Item::Vault(child.key));
                }
            }
            if items.len() > MOST_FILES {
                return Err(format!("there are more than {MOST_FILES} files; attach a part of it"));
            }
        }
        items.sort_by_key(Item::from);
        Ok(items)
    }
}

pub(crate) async fn download(egress: &Egress, url: &str) -> Result<Raw, String> {
    let address: Address = url.parse().map_err(|error| format!("{error}"))?;
    let fetched = egress.get(&address, ACCEPT).await.map_err(|error| error.to_string())?;
    if !(200..300).contains(&fetched.status) {
        return Err(format!("{} answered with status {}", address.host(), fetched.status));
    }
    if fetched.is_cut {
        return Err(format!("the page is larger than {} bytes", fetched.body.len()));
    }
    let media_type = Some(fetched.content_type).filter(|declared| !declared.is_empty());
    Ok(Raw { name: fetched.address.as_str().to_owned(), media_type, bytes: fetched.body })
}

async fn whole(objects: &dyn Objects, key: &ObjectKey) -> Result<Vec<u8>, String> {
    match objects.get(key, LARGEST_DOCUMENT as u64).await {
        Ok(Some(object)) => Ok(object.bytes),
        Ok(None) | Err(StoreError::NotFound) => Err("the file is gone".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn key(path: &str) -> Result<ObjectKey, String> {
    path.trim_end_matches('/').parse().map_err(|error| format!("{error}"))
}
