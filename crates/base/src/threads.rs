//! Processes many elements in parallel. Each result depends only on its own element, so the number of threads does not
//! change it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many elements a thread takes at a time; for fewer, a thread costs more than it saves.
const BLOCK: usize = 64;

/// Maps all elements, in order, on as many threads as there are cores.
pub fn map<T: Sync, U: Send>(things: &[T], f: impl Fn(&T) -> U + Sync) -> Vec<U> {
    map_with(things, || (), |(), thing| f(thing))
}

/// Like `map`, with a working value, such as a buffer, that is reused for many elements. No result may depend on its
/// earlier content.
pub fn map_with<T: Sync, U: Send, W>(
    things: &[T],
    make: impl Fn() -> W + Sync,
    f: impl Fn(&mut W, &T) -> U + Sync,
) -> Vec<U> {
    let mapped = map_blocks(things, BLOCK, |block| {
        let mut with = make();
        let mapped = block.iter().map(|thing| f(&mut with, thing));
        mapped.collect::<Vec<U>>()
    });
    mapped.into_iter().flatten().collect()
}

/// Maps `size` elements at a time, in order, on as many threads as there are cores, including this one. The last block
/// may be smaller; no block is empty.
pub fn map_blocks<T: Sync, U: Send>(
    things: &[T],
    size: usize,
    f: impl Fn(&[T]) -> U + Sync,
) -> Vec<U> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let blocks = things.len().div_ceil(size);
    if threads == 1 || blocks < 2 {
        return things.chunks(size).map(f).collect();
    }
    // A thread that has finished a block takes the next one, since cores are seldom equally busy.
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done: Vec<(usize, U)> = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(block) = things.chunks(size).nth(at) else {
                return done;
            };
            done.push((at, f(block)));
        }
    };
    let mut mapped = thread::scope(|scope| {
        let workers: Vec<_> = (1..threads.min(blocks))
            .map(|_| scope.spawn(work))
            .collect();
        let mut mapped = work();
        for worker in workers {
            match worker.join() {
                Ok(done) => mapped.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        mapped
    });
    mapped.sort_unstable_by_key(|(at, _)| *at);
    mapped.into_iter().map(|(_, done)| done).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_kept_however_many_there_are() {
        for count in [0, 1, BLOCK, BLOCK + 1, 2 * BLOCK, 1000] {
            let things: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = things.iter().map(|thing| thing * 2).collect();
            assert_eq!(map(&things, |thing| thing * 2), doubled);
        }
    }
}
