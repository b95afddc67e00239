//! `forebay bench`

use forebay_bench::BenchArgs;

use crate::exit::{Failure, Outcome};

/// Runs the load tester.
pub(crate) fn bench(args: &BenchArgs) -> Outcome {
    // What stands behind the command, as agents get it.
    let options: Vec<String> = std::env::args()
        .skip_while(|word| word != "bench")
        .skip(1)
        .collect();
    forebay_bench::run(args, &options).map_err(|failure| match failure {
        forebay_bench::Failure::Message(text) => Failure::Message(text),
        forebay_bench::Failure::Usage(text) => Failure::Usage(text),
        forebay_bench::Failure::Said => Failure::Said,
    })
}
