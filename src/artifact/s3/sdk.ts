// What a store loads when it first asks. A module of the project's own: of a CommonJS package that is imported when it is
// needed, a bundle has no names.
export { S3 } from '@aws-sdk/client-s3';
