use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Llama;
use super::functions::Functions;

/// A word or part of a word, by its number in the model's vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::llama) struct Token(pub(super) i32);

/// Makes `tokenize` read the marks of a conversation as marks and not as text.
const AS_MARKS: bool = true;

/// Weights in memory, and their vocabulary.
pub(in crate::llama) struct Model {
    pub(super) functions: &'static Functions,
    pub(super) raw: *mut c_void,
    pub(super) vocab: *const c_void,
}

impl Model {
    pub(in crate::llama) fn load(llama: Llama, file: &Path) -> Option<Self> {
        let functions = llama.functions;
        let path = CString::new(file.as_os_str().as_bytes()).ok()?;
        // SAFETY: the path ends with a zero byte; the parameters are the library's defaults.
        let raw = unsafe {
            let params = (functions.llama_model_default_params)();
            (functions.llama_model_load_from_file)(path.as_ptr(), params)
        };
        if raw.is_null() {
            return None;
        }
        // SAFETY: the model was just loaded, and owns its vocabulary.
        let vocab = unsafe { (functions.llama_model_get_vocab)(raw) };
        Some(Self { functions, raw, vocab })
    }

    /// The template that turns a conversation into text, if the file has one.
    pub(in crate::llama) fn chat_template(&self) -> Option<String> {
        // SAFETY: the model is alive. The text, if there is one, ends with a zero byte and belongs
        // to the model.
        unsafe {
            let text = (self.functions.llama_model_chat_template)(self.raw, std::ptr::null());
            if text.is_null() {
                None
            } else {
                CStr::from_ptr(text).to_str().ok().map(str::to_owned)
            }
        }
    }

    pub(in crate::llama) fn tokens(&self) -> impl Iterator<Item = Token> {
        // SAFETY: the vocabulary lives as long as the model.
        let count = unsafe { (self.functions.llama_vocab_n_tokens)(self.vocab) };
        (0..count).map(Token)
    }

    /// The token that begins a text. If the model has none, the number belongs to no token.
    pub(in crate::llama) fn first(&self) -> Token {
        // SAFETY: the vocabulary lives as long as the model.
        Token(unsafe { (self.functions.llama_vocab_bos)(self.vocab) })
    }

    /// The token that ends a text.
    pub(in crate::llama) fn last(&self) -> Token {
        // SAFETY: the vocabulary lives as long as the model.
        Token(unsafe { (self.functions.llama_vocab_eos)(self.vocab) })
    }

    /// Whether texts must begin with the first token.
    pub(in crate::llama) fn begins_with_first(&self) -> bool {
        // SAFETY: the vocabulary lives as long as the model.
        unsafe { (self.functions.llama_vocab_get_add_bos)(self.vocab) }
    }

    /// Whether a token structures a conversation.
    pub(in crate::llama) fn is_control(&self, token: Token) -> bool {
        // SAFETY: the vocabulary lives as long as the model; `tokens` and the model return only
        // numbers that it knows.
        unsafe { (self.functions.llama_vocab_is_control)(self.vocab, token.0) }
    }

    /// Whether an answer ends with this token.
    pub(in crate::llama) fn ends_answer(&self, token: Token) -> bool {
        // SAFETY: the vocabulary lives as long as the model.
        unsafe { (self.functions.llama_vocab_is_eog)(self.vocab, token.0) }
    }

    /// The bytes of a token as text; empty for a number that belongs to no token.
    pub(in crate::llama) fn bytes_of(&self, token: Token, marks: Marks) -> Vec<u8> {
        if token.0 < 0 {
            return Vec::new();
        }
        let written = matches!(marks, Marks::Written);
        let mut bytes = vec![0_u8; 64];
        loop {
            let room = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
            let buffer = bytes.as_mut_ptr().cast::<c_char>();
            // SAFETY: the buffer has `room` bytes, and no more are written.
            let length = unsafe {
                (self.functions.llama_token_to_piece)(self.vocab, token.0, buffer, room, 0, written)
            };
            match usize::try_from(length) {
                Ok(length) => {
                    bytes.truncate(length);
                    return bytes;
                }
                // A negative length says how much room is needed.
                Err(_) => bytes = vec![0; length.unsigned_abs() as usize],
            }
        }
    }

    /// Converts a text to tokens; the marks of a conversation in it become marks.
    pub(in crate::llama) fn tokenize(&self, text: &str, first: First) -> Vec<Token> {
        let add = matches!(first, First::Added);
        let length = i32::try_from(text.len()).unwrap_or(i32::MAX);
        let mut tokens = vec![0_i32; text.len() + 2];
        loop {
            let room = i32::try_from(tokens.len()).unwrap_or(i32::MAX);
            let (from, to) = (text.as_ptr().cast::<c_char>(), tokens.as_mut_ptr());
            // SAFETY: `length` bytes are read and at most `room` tokens written.
            let count = unsafe {
                (self.functions.llama_tokenize)(self.vocab, from, length, to, room, add, AS_MARKS)
            };
            match usize::try_from(count) {
                Ok(count) => return tokens.into_iter().take(count).map(Token).collect(),
                // A negative count says how much room is needed.
                Err(_) => tokens = vec![0; count.unsigned_abs() as usize],
            }
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the model was loaded once and is freed once; contexts borrow it, so none is left.
        unsafe { (self.functions.llama_model_free)(self.raw) }
    }
}

/// Whether the marks of a conversation appear in text.
#[derive(Clone, Copy)]
pub(in crate::llama) enum Marks {
    Written,
    LeftOut,
}

/// Whether the first token of a text is added.
#[derive(Clone, Copy)]
pub(in crate::llama) enum First {
    Added,
    InTheText,
}
