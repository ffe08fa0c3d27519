/** The version of this build, as `svc --version` and `svc_build_info` tell it. */
export const VERSION = "0.2.0";
