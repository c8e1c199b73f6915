//! Files read back by GDAL, and files from windows against whole ones.
