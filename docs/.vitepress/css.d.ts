/** Style sheets are taken up by the site's bundler; TypeScript need not know what is in them. */
declare module '*.css';
