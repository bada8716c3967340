export type { Answered } from './http/answered.ts';
export { type Platform, type PlatformOptions, startPlatform } from './platform.ts';
export { platformOptionsOf, type PlatformSettings } from './platformOptions.ts';
