# SPDX-License-Identifier: Apache-2.0
"""Recipe for Spack: copy the folder into packages/ of a repository of your own."""
from spack.package import *


class Steptime(MesonPackage):
    """Step time of distributed training, estimated analytically: every number has a unit, a formula and a source."""

    homepage = "https://github.com/steptime/steptime"
    git = "https://github.com/steptime/steptime.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("mpi", default=False, description="several processes for searches, started by mpirun")
    variant("openmp", default=True, description="several threads for sweeps and searches")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("libyaml")
    depends_on("yajl")
    depends_on("gsl")
    depends_on("zlib-api")
    depends_on("sqlite@3.37:")
    depends_on("expat")
    depends_on("lz4 libs=static")  # inside of what `steptime record` preloads
    depends_on("zstd libs=static")
    depends_on("mpi", when="+mpi")

    def meson_args(self):
        return [
            "-Dtests=disabled",
            "-Dxgboost=disabled",
            "-Dxlsxwriter=disabled",
            "-Dwerror=false",
            f"-Dmpi={'enabled' if self.spec.satisfies('+mpi') else 'disabled'}",
            f"-Dopenmp={'enabled' if self.spec.satisfies('+openmp') else 'disabled'}",
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def estimate(self):
        Executable(join_path(self.prefix.bin, "steptime"))("estimate", "gpt-3b-32x3090")
