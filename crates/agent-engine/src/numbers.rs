//! What requests, jobs and commits of a run are counted by.

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            pub(crate) fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }
    )*};
}

numbers! {
    /// Numbers the requests of a run, so that a late answer to an earlier one is known as late.
    RequestNo,
    /// Numbers the jobs that make room.
    JobNo,
    /// Numbers the commits.
    CommitNo
}
