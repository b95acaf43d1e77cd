//! The packages that hold llama.cpp for this program, and the exact content of their files.
//!
//! They are node-llama-cpp's prebuilt libraries of llama.cpp v0.5.0 (its `_nlcBuildMetadata.json`
//! names the release). For a newer package, check the layouts in `llama/native/layout.rs`: the
//! tests of `llama::native` compare them with what the library itself fills in.

use super::known::Platform;

/// llama.cpp for one kind of machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Runtime {
    pub(super) platform: Platform,
    pub package: &'static str,
    pub version: &'static str,
    /// The name that npm gives the package's file.
    pub(super) archive: &'static str,
    pub(super) archive_sha256: &'static str,
    /// The path of the libraries inside the package.
    pub(super) inside: &'static str,
    pub(super) files: &'static [RuntimeFile],
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuntimeFile {
    pub(super) name: &'static str,
    pub(super) bytes: u64,
    pub(super) sha256: &'static str,
}

const fn file(name: &'static str, bytes: u64, sha256: &'static str) -> RuntimeFile {
    RuntimeFile { name, bytes, sha256 }
}

/// The library that is loaded by name; it loads the others of its folder.
pub(crate) const LIBLLAMA: &str = "libllama.v0.5.0.so";

#[rustfmt::skip]
pub(super) const RUNTIMES: &[Runtime] = &[
    Runtime {
        platform: Platform::LinuxX86,
        package: "@node-llama-cpp/linux-x64",
        version: "3.22.1",
        archive: "node-llama-cpp-linux-x64-3.22.1.tgz",
        archive_sha256: "0d953e1503d5ab4608d8ed5b739132308c81ac05ffeb760d2a7f30e08a9f90e0",
        inside: "package/bins/linux-x64/",
        files: &[
            file("libggml-base.so", 919_560, "6c342c8aeb20cb31a18099d6f79de4de6703814d1cfd5c4d754a8643087e486e"),
            file("libggml-cpu-alderlake.so", 1_224_328, "6527efda35405a0d91574aced4a7766db9bb0494ab6458c83fe9eba755eb76f7"),
            file("libggml-cpu-cannonlake.so", 1_369_312, "44285a67a31a81a036a70c565d391b31145d835044c03c76cfaa2f90a9d57d42"),
            file("libggml-cpu-cascadelake.so", 1_369_312, "97cace813fbf7b7a07c4793f6a75b8b2d3de256430620f0be4a15bd4372468ea"),
            file("libggml-cpu-cooperlake.so", 1_365_288, "5eda284fd8986d550e21623b269dd31d02c07fc70121d3099609d5dde6b6847e"),
            file("libggml-cpu-haswell.so", 1_228_424, "ddaa96012769f0e86e8670cca374243751880bea2c2d0a4413b3a1b7a29dca74"),
            file("libggml-cpu-icelake.so", 1_369_312, "9b9c24aaa775fd38a6e1ff082549e50d4138d29f2e2883630b28ab70704ed896"),
            file("libggml-cpu-ivybridge.so", 1_190_120, "91b27ab81df92b8429c8e3441a8861014d3aec1424f90885a628fd0d4567532f"),
            file("libggml-cpu-piledriver.so", 1_186_024, "2cb5b2101f5bbefa2416ec7f8b6c6acb177d04f0157989c5d92e4c07750fd3f8"),
            file("libggml-cpu-sandybridge.so", 1_180_808, "bce17565033835dfb59fae2ed712d4c35e56463c2d49ea61ca08e6e2908bdfd6"),
            file("libggml-cpu-sapphirerapids.so", 1_669_760, "e3d4840632b2242655e1721c6b93ec0370406dded9074accfe90bcfb67bd30b8"),
            file("libggml-cpu-skylakex.so", 1_369_312, "df30b40a957175cd8e462e8838632dc51e3be7570b27b9526cb7a044263aeab3"),
            file("libggml-cpu-sse42.so", 981_608, "ec65053445506965db5dd9382d7ede084ba639edc55f77aaf73581c778969e02"),
            file("libggml-cpu-x64.so", 977_688, "1174c3c3e0b8722313df561d7ef5ece516a070732cec9b8ddda3667c0b959728"),
            file("libggml-cpu-zen4.so", 1_365_288, "d84208de33fdadb8921a1a1a34342f5eceb1e58b83648be68050f7557312bd3e"),
            file("libggml.v0.5.0.so", 55_184, "41cd5e6ad78b9f0af31a6f80d637d3168e75ff84db14c495de4d3d9c95607444"),
            file("libllama.v0.5.0.so", 4_620_496, "2ecd1d85f68456573a664106a9039366b88231579fd65d9669c9a6ab41374fd4"),
        ],
    },
    Runtime {
        platform: Platform::LinuxArm,
        package: "@node-llama-cpp/linux-arm64",
        version: "3.22.1",
        archive: "node-llama-cpp-linux-arm64-3.22.1.tgz",
        archive_sha256: "39c76b998e35ed2f236c01472fc79eda0fc558b1c8b535023c2d7ded8c327cc4",
        inside: "package/bins/linux-arm64/",
        files: &[
            file("libggml-base.so", 952_096, "ef8a2f781f9fccc99a744166529e20f48ea4c850e35fbb38d88762691fea1da6"),
            file("libggml-cpu-armv8.0_1.so", 984_904, "016d2bd41948f4989df8c06a1cb1f6a3ed5a2ead811bd95a4511a842260f2365"),
            file("libggml-cpu-armv8.2_1.so", 1_018_920, "8539c4995e56237e5b43d2147bfabe0fabb21e55cb93d2f3ef55796c819f2d0d"),
            file("libggml-cpu-armv8.2_2.so", 1_023_016, "fe0312b22078d8215582ca9deb76d595257700a5d0c4cfc43a9a6ee93d828937"),
            file("libggml-cpu-armv8.2_3.so", 1_018_792, "0b5714435030b1a48b5dfae3484c1c592c7f95925444c1799f4a753046e6dbb3"),
            file("libggml-cpu-armv8.6_1.so", 1_039_496, "0fdfbb750748b9502cb5e90ff822415b30390de0b9c527c929087f36548d265e"),
            file("libggml-cpu-armv8.6_2.so", 1_039_496, "5179873d30a2e55db5d8bb20e3c28d32c0a170fbac237cebcbc2f77b477c8946"),
            file("libggml-cpu-armv9.2_1.so", 1_039_496, "98d963eee3db588a9531617588edb077c8f1cdca5ae6d974f0b3324ea1c290ab"),
            file("libggml-cpu-armv9.2_2.so", 1_039_496, "6cb2f7dcac85d7b1ea939354072495a16910d5509c3accd5caa1aab1df6d33f7"),
            file("libggml.v0.5.0.so", 50_880, "c1c7b0c0d2d67863c7e0544dd7190bf0f0897c87ae3002efca5817bdda9b9b85"),
            file("libllama.v0.5.0.so", 4_212_712, "ba559136061c8ca89df13d86937fa4214100583fb4d734ab2a6ebe2a149be993"),
        ],
    },
];
