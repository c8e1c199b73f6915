//! A virtual file system of GDAL that serves ranges of files from memory, without a copy of the whole.
//!
//! A file is there while its [`ServedFile`] lives. What is read outside the ranges at hand comes back short and is
//! remembered, so that the caller learns which bytes to fetch. Any number of threads may read at once.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use gdal_sys::{VSIFilesystemPluginCallbacksStruct, VSIStatBufL};

use crate::raster::FileBytes;

/// Where GDAL finds served files: `/vsigisrun/<number>/<name>`.
pub(in crate::raster) const PREFIX: &str = "/vsigisrun/";
/// The same for GDAL, which keeps the pointer.
static C_PREFIX: &CStr = c"/vsigisrun/";

#[cfg(target_os = "linux")]
type Stat = libc::stat64;
#[cfg(not(target_os = "linux"))]
type Stat = libc::stat;

static NEXT: AtomicU64 = AtomicU64::new(1);
static FILES: RwLock<BTreeMap<u64, Arc<Served>>> = RwLock::new(BTreeMap::new());

/// A file that GDAL can open until this is dropped.
#[derive(Debug)]
pub(in crate::raster) struct ServedFile {
    number: u64,
    path: String,
    served: Arc<Served>,
}

impl ServedFile {
    /// Makes the bytes a file of GDAL's. The file's name keeps its suffix, and nothing else of a path.
    pub(in crate::raster) fn of(bytes: FileBytes) -> Self {
        install();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = base_name(&bytes.name);
        let path = format!("{PREFIX}{number}/{name}");
        let served = Arc::new(Served { bytes, name, missing: Mutex::default() });
        write_files().insert(number, Arc::clone(&served));
        Self { number, path, served }
    }

    /// The path by which GDAL opens it.
    pub(in crate::raster) fn path(&self) -> &str {
        &self.path
    }

    /// Takes the ranges that were asked for and are not at hand: by offset, merged, each once.
    pub(in crate::raster) fn take_missing(&self) -> Vec<Range<u64>> {
        let mut missing = self.served.missing.lock().unwrap_or_else(PoisonError::into_inner);
        crate::raster::ranges::merged(std::mem::take(&mut *missing))
    }
}

impl Drop for ServedFile {
    fn drop(&mut self) {
        write_files().remove(&self.number);
    }
}

fn write_files() -> std::sync::RwLockWriteGuard<'static, BTreeMap<u64, Arc<Served>>> {
    FILES.write().unwrap_or_else(PoisonError::into_inner)
}

/// The last part of a path or address, without characters that would end a C string or a path.
fn base_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last.chars().filter(|c| !c.is_control()).collect();
    if clean.is_empty() { "file".to_owned() } else { clean }
}

#[derive(Debug)]
struct Served {
    bytes: FileBytes,
    name: String,
    missing: Mutex<Vec<Range<u64>>>,
}

impl Served {
    /// Copies what is at hand from `offset` on, up to the first gap, and remembers every gap in the range.
    fn read(&self, offset: u64, target: &mut [u8]) -> usize {
        let end = offset.saturating_add(target.len() as u64).min(self.bytes.size);
        let (mut at, mut copied, mut gaps) = (offset, 0, Vec::new());
        let first =
            self.bytes.segments.partition_point(|(start, bytes)| start + bytes.len() as u64 <= offset);
        for (start, bytes) in &self.bytes.segments[first..] {
            if *start >= end {
                break;
            }
            if *start > at {
                gaps.push(at..*start);
                at = *start;
            }
            let stop = end.min(start + bytes.len() as u64);
            if gaps.is_empty() {
                let part = &bytes[(at - start) as usize..(stop - start) as usize];
                target[copied..copied + part.len()].copy_from_slice(part);
                copied += part.len();
            }
            at = stop;
        }
        if at < end {
            gaps.push(at..end);
        }
        if !gaps.is_empty() {
            self.missing.lock().unwrap_or_else(PoisonError::into_inner).extend(gaps);
        }
        copied
    }
}

/// One opened file and the place of its next read.
struct Cursor {
    served: Arc<Served>,
    at: u64,
    at_end: bool,
}

/// Tells GDAL of the file system, once.
fn install() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // SAFETY: the structure comes from GDAL's own allocator and is freed by it; GDAL copies it before the
        // second call returns. The callbacks have the types that GDAL declares; they and the prefix are there
        // for ever.
        unsafe {
            let callbacks = gdal_sys::VSIAllocFilesystemPluginCallbacksStruct();
            fill(&mut *callbacks);
            let status = gdal_sys::VSIInstallPluginHandler(C_PREFIX.as_ptr(), callbacks);
            assert_eq!(status, 0, "the prefix is nobody else's");
            gdal_sys::VSIFreeFilesystemPluginCallbacksStruct(callbacks);
        }
    });
}

fn fill(callbacks: &mut VSIFilesystemPluginCallbacksStruct) {
    callbacks.stat = Some(stat);
    callbacks.open = Some(open);
    callbacks.tell = Some(tell);
    callbacks.seek = Some(seek);
    callbacks.read = Some(read);
    callbacks.eof = Some(eof);
    callbacks.close = Some(close);
}

/// The file that GDAL means by `<number>/<name>`; nothing else exists below the prefix, so no sidecar is found.
fn find(path: &CStr) -> Option<Arc<Served>> {
    let (number, name) = path.to_str().ok()?.split_once('/')?;
    let files = FILES.read().unwrap_or_else(PoisonError::into_inner);
    let served = files.get(&number.parse().ok()?)?;
    (served.name == name).then(|| Arc::clone(served))
}

unsafe extern "C" fn stat(
    _: *mut c_void,
    path: *const c_char,
    result: *mut VSIStatBufL,
    _flags: c_int,
) -> c_int {
    // SAFETY: GDAL passes a C string that lives for the call.
    let Some(served) = find(unsafe { CStr::from_ptr(path) }) else { return -1 };
    // SAFETY: GDAL passes its `VSIStatBufL`, which is the platform's structure, zeroed.
    let result = unsafe { &mut *result.cast::<Stat>() };
    result.st_size = served.bytes.size as _;
    result.st_mode = libc::S_IFREG;
    0
}

unsafe extern "C" fn open(_: *mut c_void, path: *const c_char, access: *const c_char) -> *mut c_void {
    // SAFETY: GDAL passes two C strings that live for the call.
    let (path, access) = unsafe { (CStr::from_ptr(path), CStr::from_ptr(access)) };
    let writes = access.to_bytes().iter().any(|letter| b"wa+".contains(letter));
    match find(path) {
        Some(served) if !writes => Box::into_raw(Box::new(Cursor { served, at: 0, at_end: false })).cast(),
        _ => ptr::null_mut(),
    }
}

/// The cursor behind a handle of GDAL's.
///
/// # Safety
/// `file` comes from [`open`], was not closed, and is used by one thread at a time, as GDAL does with a handle.
unsafe fn cursor<'a>(file: *mut c_void) -> &'a mut Cursor {
    // SAFETY: what the caller promises.
    unsafe { &mut *file.cast::<Cursor>() }
}

unsafe extern "C" fn tell(file: *mut c_void) -> u64 {
    // SAFETY: GDAL passes a handle that it got from `open`.
    unsafe { cursor(file) }.at
}

unsafe extern "C" fn seek(file: *mut c_void, offset: u64, whence: c_int) -> c_int {
    // SAFETY: GDAL passes a handle that it got from `open`.
    let cursor = unsafe { cursor(file) };
    cursor.at = match whence {
        libc::SEEK_SET => offset,
        // GDAL's offsets are unsigned; a step back arrives as its two's complement.
        libc::SEEK_CUR => cursor.at.wrapping_add(offset),
        _ => cursor.served.bytes.size.wrapping_add(offset),
    };
    cursor.at_end = false;
    0
}

unsafe extern "C" fn read(file: *mut c_void, target: *mut c_void, size: usize, count: usize) -> usize {
    let wanted = size.saturating_mul(count);
    if wanted == 0 {
        return 0;
    }
    // SAFETY: GDAL passes a handle that it got from `open`, and a buffer of `size` × `count` bytes.
    let (cursor, target) =
        unsafe { (cursor(file), std::slice::from_raw_parts_mut(target.cast::<u8>(), wanted)) };
    let copied = cursor.served.read(cursor.at, target);
    cursor.at += copied as u64;
    cursor.at_end = copied < wanted;
    copied / size
}

unsafe extern "C" fn eof(file: *mut c_void) -> c_int {
    // SAFETY: GDAL passes a handle that it got from `open`.
    c_int::from(unsafe { cursor(file) }.at_end)
}

unsafe extern "C" fn close(file: *mut c_void) -> c_int {
    // SAFETY: GDAL passes a handle that it got from `open`, for the last time.
    drop(unsafe { Box::from_raw(file.cast::<Cursor>()) });
    0
}
