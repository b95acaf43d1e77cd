//! Returns memory to the kernel. The figures are those of `make bench` on two cores
//! (`docs/bench/latest.json`). Other changes were made between the two measurements of each pair,
//! and what these functions gain by themselves has not been measured.

/// Blocks of at least this size are returned to the kernel as soon as they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 128 * 1024;

/// Fixes the size from which blocks are returned. glibc would raise it with each large block that
/// is freed, up to 32 MiB, so that after one long answer the next ones would stay in the heap,
/// mostly empty. This must be called before the first thread starts.
///
/// Resident memory grew by 6.74 MB over 10,000 turns before, and by 2.78 MB with it (both measured
/// on 15 November 2026, b2994154 and c32927c6).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "a setting of the allocator that has no safe form")]
pub(crate) fn give_large_blocks_back() {
    // SAFETY: the call takes two numbers and changes nothing that is in use; no other thread runs
    // yet.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_large_blocks_back() {}

/// Unmaps code that has run, and constants and tables that were read. The kernel maps the program's
/// file in large pieces, most of which are needed only at the start or while a model is in use. A
/// page that is needed again comes from the file, without a read if it is still cached.
///
/// An idle gateway had 34.75 MB resident before (15 November 2026, c32927c6), and 22.33 MB when its
/// code was unmapped (16 November 2026, a66fec7). The constants came later and have no figure.
#[cfg(target_os = "linux")]
pub(crate) fn give_code_back() {
    match unwritten_parts_of_this_program() {
        Ok(pieces) => pieces.into_iter().for_each(unmap),
        Err(error) => tracing::debug!(%error, "the program's file stays mapped"),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn give_code_back() {}

/// The address ranges of this program's machine code, and of its beginning with the constants. Both
/// are mapped and never written. Other parts must stay mapped, because the loader writes addresses
/// into them before it makes them read-only.
#[cfg(target_os = "linux")]
fn unwritten_parts_of_this_program() -> std::io::Result<Vec<std::ops::Range<usize>>> {
    let program = std::env::current_exe()?;
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let piece = |line: &str| {
        let mut fields = line.split_whitespace();
        let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
        let name = fields.nth(2)?;
        let (start, end) = range.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        let is_unwritten = rights == "r-xp" || (rights == "r--p" && number(offset)? == 0);
        if !is_unwritten || std::path::Path::new(name) != program {
            return None;
        }
        Some(number(start)?..number(end)?)
    };
    Ok(maps.lines().filter_map(piece).collect())
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "there is no safe form of madvise")]
fn unmap(piece: std::ops::Range<usize>) {
    let start = std::ptr::with_exposed_provenance_mut(piece.start);
    // SAFETY: the range maps a file that nothing writes to, so no page of it differs from the file,
    // and an access reads the same bytes again.
    if unsafe { libc::madvise(start, piece.len(), libc::MADV_DONTNEED) } != 0 {
        let error = std::io::Error::last_os_error();
        tracing::debug!(%error, "the program's file stays mapped");
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// How many bytes of this program's unwritten parts are mapped.
    fn mapped() -> u64 {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let pieces = unwritten_parts_of_this_program().unwrap();
        let starts: Vec<_> = pieces.iter().map(|piece| format!("{:x}-", piece.start)).collect();
        let mut lines = smaps.lines();
        let mut bytes = 0;
        while let Some(line) = lines.next() {
            if starts.iter().any(|start| line.starts_with(start.as_str())) {
                let resident = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
                let kilobytes = resident.trim().trim_end_matches(" kB");
                bytes += kilobytes.parse::<u64>().unwrap() * 1024;
            }
        }
        bytes
    }

    #[test]
    fn what_was_read_of_the_program_is_given_back_and_is_there_again() {
        let pieces = unwritten_parts_of_this_program().unwrap();
        assert_eq!(pieces.len(), 2, "code and constants: {pieces:?}");
        let pages = || pieces.iter().flat_map(|piece| piece.clone().step_by(4096));
        let sum = || pages().map(|address| u64::from(byte_at(address))).sum::<u64>();
        let (read, before) = (sum(), mapped());
        give_code_back();
        let after = mapped();
        assert!(after * 2 < before, "{before} bytes were mapped, {after} are");
        assert_eq!(sum(), read);
    }

    #[allow(unsafe_code, reason = "nothing but a read maps a page")]
    fn byte_at(address: usize) -> u8 {
        let byte = std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: the page is mapped for reading.
        unsafe { byte.read_volatile() }
    }
}
