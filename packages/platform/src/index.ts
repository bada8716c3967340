export type { AnsweredRequest } from './http/answeredRequests.ts';
export { type Platform, type PlatformOptions, startPlatform } from './platform.ts';
export { platformOptionsOf, type PlatformSettings } from './platformOptions.ts';
