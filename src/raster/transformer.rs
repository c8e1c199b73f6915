//! Coordinates of one system taken to another, exactly, a batch at a time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::ffi::CoordinateOperation;
use super::{Crs, crs};

/// Takes coordinates from one system to another. It belongs to the thread that made it.
#[derive(Clone)]
pub struct Transformer {
    /// `None` where both systems are the same.
    operation: Option<Rc<CoordinateOperation>>,
}

/// Why no transformer can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no way is known from `{from}` to `{to}`")]
pub struct NoOperation {
    from: String,
    to: String,
}

/// Making an operation takes milliseconds and windows ask for the same few over and over.
const KEPT: usize = 32;

thread_local! {
    static OPERATIONS: RefCell<VecDeque<(Crs, Crs, Rc<CoordinateOperation>)>> = const { RefCell::new(VecDeque::new()) };
}

impl Transformer {
    /// The transformer from one system to another, both x before y.
    ///
    /// # Errors
    /// Two systems between which PROJ knows no operation.
    pub fn between(from: &Crs, to: &Crs) -> Result<Self, NoOperation> {
        if from == to {
            return Ok(Self { operation: None });
        }
        if let Some(operation) = kept(from, to) {
            return Ok(Self { operation: Some(operation) });
        }
        if crs::is_same(from, to) {
            return Ok(Self { operation: None });
        }
        let operation = crs::spatial_reference(from)
            .zip(crs::spatial_reference(to))
            .and_then(|(from, to)| CoordinateOperation::between(&from, &to))
            .ok_or_else(|| NoOperation { from: crs::describe(from), to: crs::describe(to) })?;
        let operation = Rc::new(operation);
        keep(from, to, &operation);
        Ok(Self { operation: Some(operation) })
    }

    /// Whether coordinates stay as they are.
    pub fn is_identity(&self) -> bool {
        self.operation.is_none()
    }

    /// Transforms in place; a point without image becomes (NaN, NaN) and the others stand.
    pub fn points(&self, points: &mut [(f64, f64)]) {
        if self.operation.is_none() {
            return;
        }
        let (mut x, mut y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        self.columns(&mut x, &mut y);
        for (point, transformed) in points.iter_mut().zip(x.into_iter().zip(y)) {
            *point = transformed;
        }
    }

    /// As `points`, for coordinates that stand in two arrays of one length.
    pub fn columns(&self, x: &mut [f64], y: &mut [f64]) {
        if let Some(operation) = &self.operation {
            operation.apply(x, y);
        }
    }
}

fn kept(from: &Crs, to: &Crs) -> Option<Rc<CoordinateOperation>> {
    OPERATIONS.with_borrow(|kept| {
        let found = kept.iter().find(|(kept_from, kept_to, _)| kept_from == from && kept_to == to);
        found.map(|(_, _, operation)| Rc::clone(operation))
    })
}

fn keep(from: &Crs, to: &Crs, operation: &Rc<CoordinateOperation>) {
    OPERATIONS.with_borrow_mut(|kept| {
        kept.truncate(KEPT - 1);
        kept.push_front((from.clone(), to.clone(), Rc::clone(operation)));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(from: &str, to: &str) -> Transformer {
        Transformer::between(&crs::parse(from).unwrap(), &crs::parse(to).unwrap()).unwrap()
    }

    #[test]
    fn longitude_stands_before_latitude() {
        let mut points = [(9.0, 0.0)];
        between("EPSG:4326", "EPSG:32632").points(&mut points);
        assert!((points[0].0 - 500_000.0).abs() < 1e-6, "the central meridian of zone 32 is 9° east");
        assert!(points[0].1.abs() < 1e-6);
    }

    #[test]
    fn a_point_without_image_leaves_the_others_alone() {
        // The equator's circumference is 2π × 6378137 m.
        let mut points = [(0.0, 90.5), (180.0, 0.0), (f64::NAN, 0.0)];
        between("EPSG:4326", "EPSG:3857").points(&mut points);
        assert!(points[0].0.is_nan() && points[2].0.is_nan());
        assert!((points[1].0 - std::f64::consts::PI * 6_378_137.0).abs() < 1e-6);
    }

    #[test]
    fn the_same_system_in_other_words_is_the_identity() {
        assert!(between("EPSG:32632", "+proj=utm +zone=32 +datum=WGS84").is_identity());
        assert!(!between("EPSG:32632", "EPSG:32633").is_identity());
    }
}
