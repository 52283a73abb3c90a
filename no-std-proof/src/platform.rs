//! The little that a binary without `std` must bring: an allocator, a panic
//! handler, a way to complain, and the two unwinding symbols that the prebuilt
//! `alloc` mentions.
//!
//! All `unsafe` of the proof is in this file. It does not free memory: the proof
//! runs once, briefly, and ends.
//!
//! Invariant: no byte of the arena is handed out twice.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::fmt;
use core::panic::PanicInfo;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

const ARENA_BYTES: usize = 16 * 1024 * 1024;
const ARENA_ALIGN: usize = 4096;

/// Memory that is handed out front to back and never taken back.
#[repr(C, align(4096))]
struct Arena {
    bytes: UnsafeCell<[u8; ARENA_BYTES]>,
    used: AtomicUsize,
}

#[global_allocator]
static ARENA: Arena = Arena {
    bytes: UnsafeCell::new([0; ARENA_BYTES]),
    used: AtomicUsize::new(0),
};

// SAFETY: `bytes` is reached only through pointers that `alloc` hands out, and
// `used` moves atomically past each of them, so no two owners share a byte.
unsafe impl Sync for Arena {}

// SAFETY: a pointer is within `bytes`, `layout.size()` bytes long, and aligned:
// `bytes` begins at `ARENA_ALIGN`, and the offset is a multiple of `layout.align()`.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > ARENA_ALIGN {
            return ptr::null_mut();
        }
        let mut start = 0;
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                start = used.checked_next_multiple_of(layout.align())?;
                start
                    .checked_add(layout.size())
                    .filter(|&end| end <= ARENA_BYTES)
            });
        match taken {
            Ok(_) => self.bytes.get().cast::<u8>().wrapping_add(start),
            Err(_) => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[link(name = "c")]
unsafe extern "C" {
    safe fn abort() -> !;
    fn write(file: i32, bytes: *const u8, length: usize) -> isize;
}

/// Writes to standard error; what cannot be written is dropped.
pub fn complain(message: fmt::Arguments<'_>) {
    let _ = fmt::write(&mut StandardError, message);
}

struct StandardError;

impl fmt::Write for StandardError {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: pointer and length are those of `text`, which outlives the call.
        let written = unsafe { write(2, text.as_ptr(), text.len()) };
        if written < 0 { Err(fmt::Error) } else { Ok(()) }
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    complain(format_args!("no-std-proof: {info}\n"));
    abort()
}

/// Named by the unwind tables of the prebuilt `alloc`; never called, since nothing unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {
    abort()
}

/// Named by the landing pads of the prebuilt `alloc`; never called, since nothing unwinds.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    abort()
}
