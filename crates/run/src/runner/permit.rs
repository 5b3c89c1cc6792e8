//! When the next call may be made.

use super::Runner;
use crate::targets::{Admission, Pass};
use kelvin_base::usage::Usage;

impl Runner<'_> {
    /// Waits until the limits allow another call with this input. None where no call may be made any more.
    pub(super) fn may_start(&self, input: &str) -> Option<Permit<'_>> {
        if self.memory.is_broken() {
            return None;
        }
        let pass = match self
            .target
            .meter()
            .map(|meter| meter.enter(&self.interrupt))
        {
            None => None,
            Some(Admission::Go(pass)) => Some(pass),
            Some(Admission::Interrupted) => return None,
            Some(Admission::Spent(failure)) => {
                // Every thread meets the same ceiling; the first one stores the reason.
                let _ = self.spent.set(failure.message);
                return None;
            }
        };
        let goes_on = match &self.pace {
            // Each turn of a conversation is a start of its own.
            Some(pace) => {
                let turns = self.settings.rules.turns.as_ref();
                let starts = turns.map_or(1, |place| place.count(input));
                (0..starts).all(|_| pace.wait(&self.interrupt))
            }
            None => !self.interrupted(),
        };
        goes_on.then_some(Permit(pass))
    }
}

/// The permission to make one call; for a model it is the pass of its meter.
pub(super) struct Permit<'m>(Option<Pass<'m>>);

impl Permit<'_> {
    /// Notes that the call was made.
    pub(super) fn used(self, usage: Option<Usage>) {
        if let Some(pass) = self.0 {
            pass.used(usage);
        }
    }
}
