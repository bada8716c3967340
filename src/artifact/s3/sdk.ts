// Loaded at a store's first call. This is a module of the project, because in a bundle a dynamic import of a CommonJS
// package has no named exports.
export { S3 } from '@aws-sdk/client-s3';
