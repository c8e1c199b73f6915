//! One image onto one target grid, window by window.

use super::areal::{ArealKernel, Footprint};
use super::band::{ArealBand, BandWarp, Block, PointBand, SourceBand, TypedBand, with_shared_masks};
use super::lattice::Lattice;
use super::point::PointKernel;
use super::region::source_window;
use super::scale::Scale;
use super::{PixelMap, SourceImage, WarpError};
use crate::raster::with_pixels;
use crate::raster::{Band, Grid, Member, Resampling, Window};

/// The warp of one image onto one target grid. It belongs to the thread that made it.
pub struct Warp {
    map: PixelMap,
    source: (u64, u64),
    target: (u64, u64),
    resampling: Resampling,
    scale: Scale,
}

impl Warp {
    /// Measures how the image lies on the target.
    ///
    /// # Errors
    /// Systems with no way between them, grids that flatten the plane.
    pub fn new(source: &SourceImage, target: &Grid, resampling: Resampling) -> Result<Self, WarpError> {
        let map = PixelMap::new(source, target)?;
        let target = (target.width, target.height);
        let scale = match resampling {
            Resampling::Nearest => Scale::NONE,
            _ => Scale::measure(&map, source.size, target),
        };
        Ok(Self { map, source: source.size, target, resampling, scale })
    }

    /// The part of the image that a window of the target needs; `None` where it needs nothing.
    pub fn source_window(&self, window: &Window) -> Option<Window> {
        source_window(&self.lattice(), self.source, self.reach(), window)
    }

    /// The bands of a window of the target, made of the part of the image that `member` holds, which must contain
    /// what `source_window` says. `is_cancelled` is asked once a cell.
    ///
    /// # Errors
    /// Only `Cancelled`.
    pub fn bands(
        &self,
        member: &Member,
        window: &Window,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<Band>, WarpError> {
        let mut bands: Vec<_> = member.bands.iter().map(|band| self.begin(member, band, window)).collect();
        let lattice = self.lattice();
        let mut block = Block::default();
        for patch in lattice.patches(window) {
            if is_cancelled() {
                return Err(WarpError::Cancelled);
            }
            block.fill(&lattice, &patch, window, self.resampling.is_areal());
            for band in &mut bands {
                band.add(&block);
            }
        }
        Ok(with_shared_masks(&member.bands, bands.into_iter().map(BandWarp::finish).collect()))
    }

    fn lattice(&self) -> Lattice<'_> {
        Lattice::new(&self.map, self.source, self.target, self.reach())
    }

    /// How far a kernel looks beyond its centre, and two pixels for rounding, per axis.
    fn reach(&self) -> (f64, f64) {
        let (x, y) = self.scale.footprint();
        let radius = if self.resampling.is_areal() { 1.0 } else { self.resampling.radius() };
        (radius * x + 2.0, radius * y + 2.0)
    }

    fn begin<'a>(&'a self, member: &'a Member, band: &'a Band, window: &Window) -> Box<dyn BandWarp + 'a> {
        let source = SourceBand { size: self.source, window: member.window, band };
        with_pixels!(&band.pixels, array => {
            let pixels = TypedBand::new(source, array, window);
            if self.resampling.is_areal() {
                Box::new(ArealBand { pixels, kernel: ArealKernel::new(self.resampling), warp: self })
            } else {
                Box::new(PointBand { pixels, kernel: PointKernel::new(self.resampling, self.scale) })
            }
        })
    }

    /// The footprint of a target pixel; an average one around its centre where its corners make none.
    pub(super) fn footprint(&self, block: &Block, col: usize, row: usize) -> Option<Footprint> {
        let size = (self.source.0 as i64, self.source.1 as i64);
        Footprint::of(&block.places, col, row, size, &self.scale).or_else(|| {
            let mut x = [(block.area.col + col as u64) as f64 + 0.5];
            let mut y = [(block.area.row + row as u64) as f64 + 0.5];
            self.map.to_source(&mut x, &mut y);
            Footprint::around((x[0], y[0]), &self.scale)
        })
    }
}
