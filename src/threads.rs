//! Work on many things at once, where the result of each depends on itself alone: the number of
//! threads changes nothing in it.

use std::thread;

/// Below this many things a thread costs more than it saves.
const FEW: usize = 64;

/// Maps every thing, in order, on as many threads as there are cores.
pub(crate) fn map<T: Sync, U: Send>(things: &[T], f: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    if threads == 1 || things.len() < FEW {
        return things.iter().map(f).collect();
    }
    let (share, f) = (things.len().div_ceil(threads), &f);
    thread::scope(|scope| {
        let workers: Vec<_> = things
            .chunks(share)
            .map(|chunk| scope.spawn(move || chunk.iter().map(f).collect::<Vec<U>>()))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| match worker.join() {
                Ok(mapped) => mapped,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_kept_however_many_there_are() {
        for count in [0, 1, FEW, 1000] {
            let things: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = things.iter().map(|thing| thing * 2).collect();
            assert_eq!(map(&things, |thing| thing * 2), doubled);
        }
    }
}
