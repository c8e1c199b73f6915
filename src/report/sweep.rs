//! The same pipeline at several sizes of one resource: the table, and where the curve flattens.

use serde::Serialize;

use super::digest::Digest;
use super::table::Table;
use crate::units::{ByteSize, spoken_count};

/// A size is as good as the best when it lets through this part of what the best does.
const AS_GOOD: f64 = 0.9;

/// And when it lets through as much as the best does in a slow run, but not with less than this part of it.
const AS_GOOD_IN_NOISE: f64 = 0.75;

/// The part of the time wanted of the processors that a run waits for on a machine that others use too.
const DISTURBED: f64 = 0.25;

/// What one run came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Measured {
    /// Items a second.
    pub items_per_second: f64,
    /// The most bytes of resident memory of the process.
    pub peak_resident: u64,
    /// Cores that computed on average.
    pub cores_used: f64,
    /// Threads that waited for a processor on average.
    pub starved: f64,
    /// Cores that the machine grants.
    pub cores_granted: u64,
    /// GDAL's block cache in bytes for each piece of work at once.
    pub cache_each: u64,
    /// Answers that asked for less.
    pub throttled: u64,
    /// Items that failed.
    pub failed: u64,
}

impl Measured {
    /// Of the record of one run.
    pub fn of(digest: &Digest) -> Self {
        let seconds = digest.seconds().max(1e-9);
        let cores = digest.outline.resource("cores").map_or(1.0, |cores| cores.limit).max(1.0);
        Self {
            items_per_second: digest.items.ended() as f64 / seconds,
            peak_resident: digest.peak_resident(),
            cores_used: digest.cpu() / seconds,
            starved: digest.usage.starved / seconds,
            cores_granted: digest.outline.cores_granted.0,
            cache_each: (digest.outline.gdal_cache as f64 / cores) as u64,
            throttled: digest.stages.values().map(|figures| figures.requests.throttled()).sum(),
            failed: digest.items.failed,
        }
    }

    /// Whether it wanted no more cores than there are and had to wait for them all the same: others used them.
    fn is_disturbed(&self) -> bool {
        let wanted = self.cores_used + self.starved;
        wanted <= self.cores_granted as f64 && self.starved > DISTURBED * wanted
    }
}

/// One size, and what its runs came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The size as it was given: `4`, `512 MiB`, `5/s`.
    pub value: String,
    /// It as a number.
    pub size: f64,
    /// The runs.
    pub runs: Vec<Measured>,
}

impl Point {
    /// The run in the middle, by throughput: a noisy neighbour does not move it.
    fn middle(&self) -> Measured {
        self.at_part(0.5)
    }

    /// The run that so large a part of the others is slower than, or as slow.
    fn at_part(&self, part: f64) -> Measured {
        let mut runs = self.runs.clone();
        runs.sort_by(|a, b| a.items_per_second.total_cmp(&b.items_per_second));
        runs[((runs.len() - 1) as f64 * part) as usize]
    }

    /// What another size has to let through to be as good as this one: no more than this one lets through in a slow run.
    fn as_good(&self) -> f64 {
        let (middle, slow) = (self.middle().items_per_second, self.at_part(0.25).items_per_second);
        (AS_GOOD * middle).min(slow.max(AS_GOOD_IN_NOISE * middle))
    }

    fn throttled(&self) -> u64 {
        self.runs.iter().map(|run| run.throttled).sum()
    }
}

/// Several sizes of one resource, in the order in which they were run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sweep {
    /// The resource.
    pub resource: String,
    /// `slots`, `bytes` or `rate`.
    pub kind: String,
    /// The sizes; each has a run at least.
    pub points: Vec<Point>,
}

impl Sweep {
    /// The smallest size that lets through nearly as much as the best, of those at which no service throttled; `None`
    /// without one.
    pub fn knee(&self) -> Option<&Point> {
        let unharmed = || self.points.iter().filter(|point| point.throttled() == 0);
        let throughput = |point: &Point| point.middle().items_per_second;
        let best = unharmed().max_by(|a, b| throughput(a).total_cmp(&throughput(b)))?;
        let good = unharmed().filter(|point| throughput(point) >= best.as_good());
        good.min_by(|a, b| a.size.total_cmp(&b.size))
    }

    /// Whether going on would bring nothing: a service throttles, or the last two sizes are no better than the ones before.
    pub fn has_flattened(&self) -> bool {
        let throughput: Vec<f64> = self.points.iter().map(|point| point.middle().items_per_second).collect();
        let is_throttled = self.points.last().is_some_and(|point| point.throttled() > 0);
        let gains_little = |pair: &[f64]| pair[1] < pair[0] / AS_GOOD;
        is_throttled || (throughput.len() >= 3 && throughput.windows(2).rev().take(2).all(gains_little))
    }

    /// The line that puts the knee into the pipeline, below `[resources]`.
    pub fn edit(&self) -> Option<String> {
        let knee = self.knee()?;
        let value = if self.kind == "slots" { knee.value.clone() } else { format!("\"{}\"", knee.value) };
        Some(format!("{}.{} = {value}", self.resource, self.kind))
    }

    /// The table, the knee, and the line for the pipeline.
    pub fn to_text(&self) -> String {
        let mut table = Table::new(&[
            &self.resource,
            "items/s",
            "speed-up",
            "GDAL cache each",
            "peak memory",
            "cores used",
            "throttled",
            "failed",
        ]);
        let first = self.points.first().map_or(1.0, |point| point.middle().items_per_second).max(1e-9);
        for point in &self.points {
            let run = point.middle();
            table.row(vec![
                point.value.clone(),
                format!("{:.2}", run.items_per_second),
                format!("{:.2}", run.items_per_second / first),
                ByteSize(run.cache_each).to_string(),
                ByteSize(run.peak_resident).to_string(),
                format!("{:.2}", run.cores_used),
                spoken_count(point.throttled()),
                spoken_count(run.failed),
            ]);
        }
        [format!("{table}\n"), self.disturbance(), self.conclusion()].concat()
    }

    /// That the figures say little, where others used the machine.
    fn disturbance(&self) -> String {
        if !self.points.iter().flat_map(|point| &point.runs).any(Measured::is_disturbed) {
            return String::new();
        }
        "\nother programs used the machine's cores meanwhile, so that these figures say little: sweep again when it is \
         quiet\n"
            .to_owned()
    }

    fn conclusion(&self) -> String {
        match (self.knee(), self.edit()) {
            (Some(knee), Some(edit)) => format!(
                "\nthe knee is at `{}` = {}: larger ones bring less than 10 % more\nunder `[resources]`: {edit}\n",
                self.resource, knee.value
            ),
            _ => "\nno knee: a service throttled at every size; begin with a smaller one\n".to_owned(),
        }
    }

    /// A chart of throughput over size, as SVG 1.1: the curve of the runs in the middle, every run as a dot, and the knee.
    pub fn to_svg(&self) -> String {
        Chart::of(self).draw()
    }
}

/// Where things are in the chart, in its own units.
struct Chart<'a> {
    sweep: &'a Sweep,
    most: f64,
}

impl<'a> Chart<'a> {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 360.0;
    const EDGE: f64 = 56.0;

    fn of(sweep: &'a Sweep) -> Self {
        let all = sweep.points.iter().flat_map(|point| &point.runs);
        Self { sweep, most: all.map(|run| run.items_per_second).fold(1e-9, f64::max) * 1.1 }
    }

    /// Sizes stand side by side, as they were tried.
    fn x(&self, index: usize) -> f64 {
        let steps = self.sweep.points.len().saturating_sub(1).max(1) as f64;
        Self::EDGE + index as f64 / steps * (Self::WIDTH - 2.0 * Self::EDGE)
    }

    fn y(&self, throughput: f64) -> f64 {
        Self::HEIGHT - Self::EDGE - throughput / self.most * (Self::HEIGHT - 2.0 * Self::EDGE)
    }

    fn draw(&self) -> String {
        let (width, height, edge) = (Self::WIDTH, Self::HEIGHT, Self::EDGE);
        let middles = self.sweep.points.iter().enumerate();
        let curve: Vec<String> = middles
            .map(|(at, point)| format!("{:.1},{:.1}", self.x(at), self.y(point.middle().items_per_second)))
            .collect();
        let marks: String = (0..self.sweep.points.len()).map(|at| self.marks(at)).collect();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
             font-size=\"13\" fill=\"#555\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"{edge}\" y=\"28\">items/s at sizes of {}</text>\n\
             <path d=\"M{edge},{edge}V{bottom}H{right}\" fill=\"none\" stroke=\"#999\"/>\n\
             <text x=\"8\" y=\"{top}\">{:.1}</text>\n<text x=\"8\" y=\"{bottom}\">0</text>\n\
             <polyline points=\"{}\" fill=\"none\" stroke=\"#1f6fb2\" stroke-width=\"2\"/>\n{marks}</svg>\n",
            escaped(&self.sweep.resource),
            self.most / 1.1,
            curve.join(" "),
            bottom = height - edge,
            right = width - edge,
            top = self.y(self.most / 1.1),
        )
    }

    /// The runs of one size, its label, and the line of the knee.
    fn marks(&self, at: usize) -> String {
        let point = &self.sweep.points[at];
        let (x, bottom) = (self.x(at), Self::HEIGHT - Self::EDGE);
        let label = escaped(&point.value);
        let mut marks = vec![format!(
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>\n",
            bottom + 20.0
        )];
        marks.extend(point.runs.iter().map(|run| {
            let y = self.y(run.items_per_second);
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"#1f6fb2\"/>\n")
        }));
        if self.sweep.knee() == Some(point) {
            marks.push(format!(
                "<path d=\"M{x:.1},{}V{bottom}\" stroke=\"#c2571a\" stroke-dasharray=\"4 3\"/>\n\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#c2571a\">knee</text>\n",
                Self::EDGE,
                Self::EDGE - 6.0
            ));
        }
        marks.concat()
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(items_per_second: f64, throttled: u64) -> Measured {
        Measured {
            items_per_second,
            peak_resident: 1 << 28,
            cores_used: 1.5,
            starved: 0.0,
            cores_granted: 2,
            cache_each: 1 << 26,
            throttled,
            failed: 0,
        }
    }

    fn sweep(points: &[(u64, &[Measured])]) -> Sweep {
        let point = |(size, runs): &(u64, &[Measured])| Point {
            value: size.to_string(),
            size: *size as f64,
            runs: runs.to_vec(),
        };
        Sweep { resource: "cores".into(), kind: "slots".into(), points: points.iter().map(point).collect() }
    }

    #[test]
    fn the_knee_is_the_smallest_size_that_is_nearly_the_best() {
        let cores = sweep(&[
            (1, &[run(4.0, 0), run(4.1, 0), run(9.9, 0)]),
            (2, &[run(7.8, 0)]),
            (4, &[run(8.1, 0)]),
            (8, &[run(8.0, 0)]),
        ]);
        assert_eq!(cores.knee().unwrap().value, "2", "the run that was 9.9 by chance is not the middle one");
        assert_eq!(cores.edit().unwrap(), "cores.slots = 2");
        assert!(cores.to_text().contains("the knee is at `cores` = 2"));
        assert!(cores.to_svg().contains(">knee</text>"));
    }

    #[test]
    fn a_step_that_gains_less_than_the_runs_of_one_size_differ_is_none() {
        let slow_and_fast = |throughput: [f64; 3]| throughput.map(|each| run(each, 0));
        let noisy = sweep(&[
            (1, &slow_and_fast([4.0, 4.1, 4.2])),
            (2, &slow_and_fast([6.9, 7.0, 8.2])),
            (8, &slow_and_fast([6.8, 8.0, 8.3])),
        ]);
        assert_eq!(noisy.knee().unwrap().value, "2", "eight let no more than 6.8 through in one run");
        let steady = sweep(&[(2, &slow_and_fast([6.9, 7.0, 7.1])), (8, &slow_and_fast([7.9, 8.0, 8.1]))]);
        assert_eq!(
            steady.knee().unwrap().value,
            "8",
            "7.0 is less than nine tenths of 8.0, and of every run of it"
        );
        let one_lost = sweep(&[(1, &slow_and_fast([4.0, 4.1, 4.2])), (2, &slow_and_fast([1.0, 8.0, 8.1]))]);
        assert_eq!(
            one_lost.knee().unwrap().value,
            "2",
            "a run that was held up makes no size as good as half of it"
        );
    }

    #[test]
    fn figures_of_a_machine_that_others_use_are_told_to_be_such() {
        let quiet = run(4.0, 0);
        assert!(!sweep(&[(1, &[quiet])]).to_text().contains("other programs"));
        let crowded = Measured { cores_used: 0.3, starved: 0.7, ..quiet };
        assert!(sweep(&[(1, &[crowded])]).to_text().contains("other programs"));
        // Eight threads on two cores wait for each other.
        let own = Measured { cores_used: 1.9, starved: 6.0, ..quiet };
        assert!(!sweep(&[(8, &[own])]).to_text().contains("other programs"));
    }

    #[test]
    fn a_size_at_which_a_service_throttles_is_no_knee() {
        let connections = sweep(&[(4, &[run(10.0, 0)]), (8, &[run(19.0, 0)]), (16, &[run(30.0, 12)])]);
        assert_eq!(connections.knee().unwrap().value, "8");
        assert!(connections.has_flattened());
        assert_eq!(sweep(&[(4, &[run(10.0, 3)])]).knee(), None);
    }

    #[test]
    fn a_search_goes_on_while_throughput_grows_and_ends_after_two_that_bring_nothing() {
        assert!(!sweep(&[(1, &[run(1.0, 0)]), (2, &[run(2.0, 0)]), (4, &[run(2.0, 0)])]).has_flattened());
        assert!(sweep(&[(2, &[run(2.0, 0)]), (4, &[run(2.1, 0)]), (8, &[run(2.0, 0)])]).has_flattened());
        assert!(!sweep(&[(1, &[run(1.0, 0)])]).has_flattened());
    }
}
