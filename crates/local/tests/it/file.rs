//! A complete GGUF file with as little in it as possible.

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn entry(bytes: &mut Vec<u8>, key: &str, kind: u32, value: &[u8]) {
    text(bytes, key);
    bytes.extend(kind.to_le_bytes());
    bytes.extend(value);
}

fn as_text(value: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    text(&mut bytes, value);
    bytes
}

/// One tensor of 64 numbers, and the entries that a model of 2 layers has.
pub(crate) fn gguf() -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(9_u64.to_le_bytes());
    entry(&mut bytes, "general.architecture", 8, &as_text("llama"));
    entry(&mut bytes, "general.name", 8, &as_text("Tiny"));
    entry(&mut bytes, "llama.context_length", 4, &2048_u32.to_le_bytes());
    entry(&mut bytes, "llama.block_count", 4, &2_u32.to_le_bytes());
    entry(&mut bytes, "llama.attention.head_count", 4, &4_u32.to_le_bytes());
    entry(&mut bytes, "llama.embedding_length", 4, &64_u32.to_le_bytes());
    entry(&mut bytes, "general.quantized", 7, &[1]);
    entry(&mut bytes, "tokenizer.chat_template", 8, &as_text("{% if tools %}{% endif %}"));
    let words: Vec<u8> = [8_u32.to_le_bytes().to_vec(), 2_u64.to_le_bytes().to_vec()].concat();
    let words = [words, as_text("a"), as_text("b")].concat();
    entry(&mut bytes, "tokenizer.ggml.tokens", 9, &words);
    text(&mut bytes, "output.weight");
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(64_u64.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.extend([0; 64 * 4]);
    bytes
}
